// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

const (
	// primaryIFName is the name that container runtimes give to a Pod's first interface.
	primaryIFName = "eth0"

	podNamePrefixLength = 8
	nameHashLength      = 6
)

// HostInterfaceName returns the name of the host side of a Pod's veth pair and of its OVS port: the first 8 characters of
// the Pod's name without leading dashes, a dash, and the first 6 hexadecimal digits of the SHA-1 of the container ID
// (followed by ifname, unless that is "eth0"). It is at most 15 characters, the kernel's limit (IFNAMSIZ - 1). The hash has
// only 24 bits, so that two sandboxes can have the same name: check the owner of an existing port.
func HostInterfaceName(podName, containerID, ifname string) string {
	key := containerID
	if ifname != primaryIFName {
		key += ifname
	}
	sum := sha1.Sum([]byte(key))
	prefix := podName[:min(len(podName), podNamePrefixLength)]
	return strings.TrimLeft(prefix, "-") + "-" + hex.EncodeToString(sum[:])[:nameHashLength]
}
