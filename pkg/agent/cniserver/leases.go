// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"
	"k8s.io/klog/v2"
)

const (
	// networkName is the name in the conflist, and therefore the directory of the leases.
	networkName = "antrea"
	// defaultLeaseDir is host-local's default dataDir.
	defaultLeaseDir = "/var/lib/cni/networks"
)

func (s *Server) leaseDir() string {
	if s.cfg.IPAMDataDir != "" {
		return s.cfg.IPAMDataDir
	}
	return defaultLeaseDir
}

// withLeases runs f on host-local's store of leases, under its lock, if there has ever been a lease. There is no request here that would say where the
// plugin is, and the plugin could only release by container ID.
func (s *Server) withLeases(f func(*disk.Store) error) error {
	if !exists(filepath.Join(s.leaseDir(), networkName)) {
		return nil
	}
	store, err := disk.New(networkName, s.leaseDir())
	if err != nil {
		return fmt.Errorf("open the leases of network %s in %s: %w", networkName, s.leaseDir(), err)
	}
	defer store.Close()
	if err := store.Lock(); err != nil {
		return fmt.Errorf("lock the leases of network %s in %s: %w", networkName, s.leaseDir(), err)
	}
	defer store.Unlock()
	return f(store)
}

// releaseLeases releases the addresses of one container's interface, as DEL does.
func (s *Server) releaseLeases(containerID, ifname string) error {
	return s.withLeases(func(store *disk.Store) error {
		if err := store.ReleaseByID(containerID, ifname); err != nil {
			return fmt.Errorf("release the addresses of container %q: %w", containerID, err)
		}
		return nil
	})
}

// releaseLeasesExcept releases all addresses but those in keep. A lease is a file whose name is the address; other files
// are host-local's own.
func (s *Server) releaseLeasesExcept(keep map[netip.Addr]bool) error {
	return s.withLeases(func(*disk.Store) error {
		dir := filepath.Join(s.leaseDir(), networkName)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("list leases: %w", err)
		}
		var errs []error
		for _, entry := range entries {
			ip, err := netip.ParseAddr(entry.Name())
			if err != nil || keep[ip.Unmap()] {
				continue
			}
			path := filepath.Join(dir, entry.Name())
			owner, err := os.ReadFile(path)
			if err == nil {
				err = os.Remove(path)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("release unused address %s: %w", ip, err))
				continue
			}
			klog.InfoS("Released an unused address", "address", ip, "container", strings.Fields(string(owner)))
		}
		return errors.Join(errs...)
	})
}
