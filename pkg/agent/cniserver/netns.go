// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netns"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// netnsPath maps a path in the runtime's mount namespace to one that the agent can open. It is below prefix when it exists
// there (the agent's container has the host's /proc and /var/run/netns under /host), and unchanged otherwise.
func netnsPath(prefix, path string) string {
	if prefix != "" && path != "" {
		if prefixed := filepath.Join(prefix, path); exists(prefixed) {
			return prefixed
		}
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openNetNS opens the network namespace of a Pod and refuses the agent's own. Errors have code 4, because they are about
// CNI_NETNS.
func openNetNS(path string) (ns.NetNS, error) {
	pod, err := ns.GetNS(path)
	if err != nil {
		return nil, errorf(cnipb.ErrorCode_INVALID_ENVIRONMENT_VARIABLES, "CNI_NETNS %q is not a network namespace: %w", path, err)
	}
	same, err := isOwnNetNS(pod)
	if err == nil && same {
		err = errors.New("it is the agent's own, want the Pod's")
	}
	if err != nil {
		pod.Close()
		return nil, errorf(cnipb.ErrorCode_INVALID_ENVIRONMENT_VARIABLES, "CNI_NETNS %q: %w", path, err)
	}
	return pod, nil
}

func isOwnNetNS(pod ns.NetNS) (bool, error) {
	own, err := netns.Get()
	if err != nil {
		return false, fmt.Errorf("the agent's own network namespace: %w", err)
	}
	defer own.Close()
	return own.Equal(nsHandle(pod)), nil
}

// nsHandle returns the same open namespace for the netlink library; pod still owns it.
func nsHandle(pod ns.NetNS) netns.NsHandle {
	return netns.NsHandle(pod.Fd())
}
