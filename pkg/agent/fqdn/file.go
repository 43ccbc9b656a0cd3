// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

// FileName is the name of the file beside the saved policies.
const FileName = "names.json"

// saveInterval is the time between two writes of the file, longestFile the largest one that is read: all names that there can be need less.
const (
	saveInterval = 5 * time.Second
	longestFile  = 64 << 20
)

// savedAddress is an element of the file.
type savedAddress struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
	Expires time.Time  `json:"expires"`
}

// load reads the saved addresses. They are entered when a selector matches their names, expired ones as well: as in a running agent they
// leave when an answer lacks them, because a program may still use them, and a rule that drops them must not open. A file that cannot be
// read is as good as none: exact names are asked for, others come back when a Pod resolves them.
func (c *Controller) load() {
	if c.config.File == "" {
		return
	}
	saved, err := readSaved(c.config.File)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			klog.InfoS("The saved addresses of names in policies are not used", "file", c.config.File, "err", err)
		}
		return
	}
	now := c.config.Clock.Now()
	for _, s := range saved {
		name := Normalize(s.Name)
		addresses := c.cache.former[name]
		// No TTL is that long (RFC 2181, section 8): the clock may have been wrong.
		if left := s.Expires.Sub(now); !s.Address.IsValid() || left > longestTTL || len(addresses) >= maxAddresses {
			continue
		}
		if addresses == nil {
			if len(c.cache.former) >= 2*maxNames {
				continue
			}
			addresses = map[netip.Addr]time.Time{}
			c.cache.former[name] = addresses
		}
		addresses[s.Address.Unmap()] = s.Expires
	}
}

const longestTTL = (1<<31 - 1) * time.Second

func readSaved(file string) (saved []savedAddress, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > longestFile {
		return nil, errors.New("the file is too large")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return saved, json.Unmarshal(b, &saved)
}

// saveSometimes writes the file if something has changed.
func (l *loop) saveSometimes(now time.Time) {
	if now.Sub(l.lastSave) < saveInterval {
		return
	}
	l.lastSave = now
	l.save()
}

// save writes the file if something has changed.
func (c *Controller) save() {
	c.mu.Lock()
	unsaved := c.unsaved
	c.unsaved = false
	entries := c.cache.entries()
	c.mu.Unlock()
	if !unsaved || c.config.File == "" {
		return
	}
	saved := make([]savedAddress, len(entries))
	for i, e := range entries {
		saved[i] = savedAddress(e)
	}
	if err := writeSaved(c.config.File, saved); err != nil {
		klog.V(2).InfoS("Failed to save the addresses of names in policies", "file", c.config.File, "err", err)
	}
}

func writeSaved(file string, saved []savedAddress) error {
	b, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return statefile.Replace(file, b)
}
