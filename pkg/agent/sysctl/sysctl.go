// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sysctl changes settings of the Node's kernel, and records the former values in a file, so that they can be
// restored: the cache's when its feature gate is off, all of them when the agent is uninstalled.
//
// The file belongs to one boot of the kernel: after a reboot the Node's own configuration has set everything again.
package sysctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

const (
	// DefaultFile is the record of agents of all versions.
	DefaultFile = "/var/run/antrea/sysctls.json"
	root        = "/proc/sys"
	bootFile    = "/proc/sys/kernel/random/boot_id"
)

// Change is the change of one setting by Set.
type Change struct {
	Former string `json:"former"`
	Set    string `json:"set"`
}

// content is the file.
type content struct {
	BootID  string            `json:"bootID"`
	Changes map[string]Change `json:"changes"`
}

// Record changes settings and remembers what they were in a file. Keys are paths below /proc/sys, such as net/ipv4/ip_forward.
// One process at a time may use a file; methods may be called concurrently.
type Record struct {
	file string
	mu   sync.Mutex
}

// NewRecord keeps the record in file, which need not exist.
func NewRecord(file string) *Record { return &Record{file: file} }

// Set gives a setting of the whole Node its value. A setting that has it already is neither written nor recorded, so this works
// where /proc/sys is read-only but right. If the former value cannot be recorded, the setting stays as it is.
func (r *Record) Set(key, value string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	former, err := read(key)
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", key, value, err)
	}
	if former == value {
		return nil
	}
	c, err := r.loadOrForget()
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", key, value, err)
	}
	change := Change{Former: former, Set: value}
	if earlier, known := c.Changes[key]; known {
		// The setting was changed in between. The value before the first change counts.
		change.Former = earlier.Former
	}
	if c.Changes[key] != change {
		c.Changes[key] = change
		if err := r.save(c); err != nil {
			return fmt.Errorf("set sysctl %s to %s: its former value %s cannot be recorded: %w", key, value, former, err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, key), []byte(value), 0); err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", key, value, err)
	}
	return nil
}

// Apply gives a setting of a device of the agent its value, without a record: it goes with the device. One that has the value is not written, so this works
// where /proc/sys is read-only but right.
func Apply(key, value string) error {
	have, err := read(key)
	if err == nil && have != value {
		err = os.WriteFile(filepath.Join(root, key), []byte(value), 0)
	}
	if err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", key, value, err)
	}
	return nil
}

// Read returns the present value of a setting.
func (r *Record) Read(key string) (string, error) {
	value, err := read(key)
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return value, nil
}

// Changes are the settings that Set has changed since the Node's last boot and that have not changed since, in order.
func (r *Record) Changes() (keys []string, changes map[string]Change, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.load()
	if err != nil {
		return nil, nil, err
	}
	if damaged := r.file + damagedSuffix; exists(damaged) {
		return nil, nil, damagedError{damaged}
	}
	for key, change := range c.Changes {
		if now, err := read(key); err != nil || now != change.Set {
			delete(c.Changes, key)
		}
	}
	return slices.Sorted(maps.Keys(c.Changes)), c.Changes, nil
}

// Restore gives a setting its former value and forgets it. A setting that was changed otherwise since Set, or not by
// Set, stays as it is.
func (r *Record) Restore(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.loadOrForget()
	if err != nil {
		return fmt.Errorf("restore sysctl %s: %w", key, err)
	}
	change, known := c.Changes[key]
	if !known {
		return nil
	}
	now, err := read(key)
	switch {
	case errors.Is(err, fs.ErrNotExist): // its kernel module is gone
	case err != nil:
		return fmt.Errorf("restore sysctl %s to %s: %w", key, change.Former, err)
	case now == change.Set:
		if err := os.WriteFile(filepath.Join(root, key), []byte(change.Former), 0); err != nil {
			return fmt.Errorf("restore sysctl %s to %s: %w", key, change.Former, err)
		}
	}
	delete(c.Changes, key)
	return r.save(c)
}

func read(key string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, key))
	return strings.TrimSpace(string(text)), err
}

// damagedError says that there is a record that cannot be read.
type damagedError struct{ file string }

func (e damagedError) Error() string {
	return fmt.Sprintf("%s, the record of changed sysctls, is damaged; check net.ipv4.ip_forward, net.ipv6.conf.all.forwarding and "+
		"net.netfilter.nf_conntrack_tcp_be_liberal yourself, then remove it", e.file)
}

const damagedSuffix = ".damaged"

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// loadOrForget puts a damaged record aside and begins a new one: the Node's network is worth more than what its sysctls were.
func (r *Record) loadOrForget() (content, error) {
	c, err := r.load()
	var damaged damagedError
	if !errors.As(err, &damaged) {
		return c, err
	}
	if err := os.Rename(r.file, r.file+damagedSuffix); err != nil {
		return content{}, errors.Join(damaged, err)
	}
	klog.ErrorS(damaged, "The original values of sysctls are lost", "now", r.file+damagedSuffix)
	return r.load()
}

// load returns an empty record if there is none of this boot.
func (r *Record) load() (content, error) {
	boot, err := os.ReadFile(bootFile)
	if err != nil {
		return content{}, err
	}
	empty := content{BootID: strings.TrimSpace(string(boot)), Changes: map[string]Change{}}
	text, err := os.ReadFile(r.file)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return content{}, err
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return content{}, damagedError{r.file}
	}
	if c.BootID != empty.BootID || c.Changes == nil {
		return empty, nil
	}
	return c, nil
}

func (r *Record) save(c content) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return statefile.Replace(r.file, append(text, '\n'))
}
