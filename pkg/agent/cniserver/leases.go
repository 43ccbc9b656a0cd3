// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"
	"k8s.io/klog/v2"
)

const (
	// networkName is the name in the conflist that is installed with the agent.
	networkName = "antrea"
	// defaultLeaseDir is host-local's default dataDir.
	defaultLeaseDir = "/var/lib/cni/networks"
	// leasesKey is the key of the bridge's external_ids under which the server remembers where leases are. Antrea has no
	// such key: its agent does not collect leases.
	leasesKey = "antrea-ipam-leases"
	// maxLeaseDirs bounds the list. A Node only reaches it if its CNI configuration is generated.
	maxLeaseDirs = 64
)

// leaseDir locates the leases of host-local for one network: the directory Network in DataDir.
type leaseDir struct {
	Network string `json:"network"`
	DataDir string `json:"dataDir"`
}

func (d leaseDir) path() string { return filepath.Join(d.DataDir, d.Network) }

// leaseDirs remembers all directories across restarts of the agent. Name and directory come from the CNI configuration,
// which the agent sees only with a request.
type leaseDirs struct {
	ports PodPorts
	// installed is the directory of the configuration that is installed with the agent.
	installed leaseDir

	mu sync.Mutex
	// others is nil until it has been read.
	others []leaseDir
}

// all returns the directories that may contain leases.
func (l *leaseDirs) all() ([]leaseDir, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return nil, err
	}
	return append([]leaseDir{l.installed}, l.others...), nil
}

// note remembers a directory before it contains a lease.
func (l *leaseDirs) note(d leaseDir) error {
	if d == l.installed {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	if slices.Contains(l.others, d) {
		return nil
	}
	if len(l.others) >= maxLeaseDirs {
		return fmt.Errorf("%s would be directory number %d with addresses of Pods; after a restart of the agent, those that have become empty do not count", d.path(), maxLeaseDirs+1)
	}
	return l.save(append(slices.Clone(l.others), d))
}

// forget removes directories without leases.
func (l *leaseDirs) forget(empty []leaseDir) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(l.others), func(d leaseDir) bool { return slices.Contains(empty, d) })
	if len(rest) == len(l.others) {
		return nil
	}
	return l.save(rest)
}

// load and save are called with mu held.
func (l *leaseDirs) load() error {
	if l.others != nil {
		return nil
	}
	ids, err := l.ports.GetExternalIDs()
	if err != nil {
		return fmt.Errorf("read from the bridge where addresses are leased: %w", err)
	}
	others := []leaseDir{}
	if text := ids[leasesKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &others); err != nil {
			// Not worth leaving the Node without Pods: at worst some addresses stay leased.
			klog.ErrorS(err, "Forgetting where addresses are leased, the bridge's external_ids make no sense", "key", leasesKey, "value", shortened(text))
		}
		others = slices.DeleteFunc(others, func(d leaseDir) bool {
			return !filepath.IsAbs(d.DataDir) || d.Network == "" || strings.ContainsAny(d.Network, "/") || strings.HasPrefix(d.Network, ".") || d == l.installed
		})
		if len(others) > maxLeaseDirs {
			klog.InfoS("Forgetting where addresses are leased beyond the first directories", "key", leasesKey, "directories", len(others), "kept", maxLeaseDirs)
			others = others[:maxLeaseDirs]
		}
	}
	l.others = append([]leaseDir{}, others...)
	return nil
}

func (l *leaseDirs) save(others []leaseDir) error {
	text, err := json.Marshal(others)
	if err == nil {
		err = l.ports.SetExternalID(leasesKey, string(text))
	}
	if err != nil {
		return fmt.Errorf("write to the bridge where addresses are leased: %w", err)
	}
	l.others = others
	return nil
}

// leaseDirOf returns the directory in which the plugin leases the addresses of a request.
func (s *Server) leaseDirOf(req *request) leaseDir {
	return leaseDir{Network: req.conf.name, DataDir: filepath.Clean(cmp.Or(s.cfg.IPAMDataDir, req.conf.dataDir, defaultLeaseDir))}
}

// withLeases runs f on host-local's store of leases in each existing directory, under its lock. It does not run the plugin:
// without a request the plugin's path is unknown, and it could only release by container ID.
func (s *Server) withLeases(f func(leaseDir, *disk.Store) error) error {
	dirs, err := s.leases.all()
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dirs {
		if exists(d.path()) {
			errs = append(errs, withLock(d, f))
		}
	}
	return errors.Join(errs...)
}

func withLock(d leaseDir, f func(leaseDir, *disk.Store) error) error {
	store, err := disk.New(d.Network, d.DataDir)
	if err != nil {
		return fmt.Errorf("open the leases in %s: %w", d.path(), err)
	}
	defer store.Close()
	if err := store.Lock(); err != nil {
		return fmt.Errorf("lock the leases in %s: %w", d.path(), err)
	}
	defer store.Unlock()
	return f(d, store)
}

// releaseLeases releases the addresses of one container's interface, as DEL does.
func (s *Server) releaseLeases(containerID, ifname string) error {
	return s.withLeases(func(d leaseDir, store *disk.Store) error {
		if err := store.ReleaseByID(containerID, ifname); err != nil {
			return fmt.Errorf("release the addresses of container %q in %s: %w", containerID, d.path(), err)
		}
		return nil
	})
}

// releaseLeasesExcept releases all addresses except keep, and forgets directories that are empty then.
func (s *Server) releaseLeasesExcept(keep map[netip.Addr]bool) error {
	var empty []leaseDir
	err := s.withLeases(func(d leaseDir, _ *disk.Store) error {
		kept, err := s.releaseInDir(d, keep)
		if err == nil && kept == 0 {
			empty = append(empty, d)
		}
		return err
	})
	return errors.Join(err, s.leases.forget(empty))
}

// releaseInDir returns the number of leases that it kept. A lease is a file named after the address; other files are
// host-local's own. The caller holds its lock.
func (s *Server) releaseInDir(d leaseDir, keep map[netip.Addr]bool) (kept int, err error) {
	entries, err := os.ReadDir(d.path())
	if err != nil {
		return 0, fmt.Errorf("list leases: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		ip, err := netip.ParseAddr(entry.Name())
		if err != nil {
			continue
		}
		if keep[ip.Unmap()] {
			kept++
			continue
		}
		path := filepath.Join(d.path(), entry.Name())
		owner, err := os.ReadFile(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("release unused address %s: %w", ip, err))
			continue
		}
		s.did("unused address released")
		klog.InfoS("Released an unused address", "address", ip, "container", strings.Fields(string(owner)))
	}
	return kept, errors.Join(errs...)
}
