// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sys/unix"
)

// ifreqEthtool is struct ifreq of SIOCETHTOOL (linux/if.h), with ifr_data pointing at the command.
type ifreqEthtool struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// ethtoolValue is struct ethtool_value of linux/ethtool.h.
type ethtoolValue struct {
	cmd, data uint32
}

// disableTXChecksum turns checksum offload of the container's interface off, so that packets leave the Pod with their
// checksum filled in. The kernel then turns segmentation offload off as well.
func disableTXChecksum(pod ns.NetNS, ifname string) error {
	if err := pod.Do(func(ns.NetNS) error {
		_, err := ethtool(ifname, ethtoolValue{cmd: unix.ETHTOOL_STXCSUM, data: 0})
		return err
	}); err != nil {
		return fmt.Errorf("disable TX checksum offload of container interface %s: %w", ifname, err)
	}
	return nil
}

// ethtool runs one command on an interface of the calling thread's network namespace and returns the value afterward.
func ethtool(ifname string, value ethtoolValue) (uint32, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	request := &ifreqEthtool{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], ifname)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(request)))
	runtime.KeepAlive(request)
	if errno != 0 {
		return 0, fmt.Errorf("ioctl SIOCETHTOOL %#x: %w", value.cmd, errno)
	}
	return value.data, nil
}
