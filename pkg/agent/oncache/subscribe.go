// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

// subscribe reports messages that matter of a netlink group, until done closes. It serves groups that package netlink cannot subscribe
// to. Messages that arrive before the last report was taken are merged into one report. The channel is nil when the kernel lacks the
// protocol.
func subscribe(protocol int, group uint, matters func(syscall.NetlinkMessage) bool, done <-chan struct{}, onError func(error)) (<-chan struct{}, error) {
	socket, err := nl.Subscribe(protocol, group)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to group %d of netlink protocol %d: %w", group, protocol, err)
	}
	if err := socket.SetReceiveBufferSize(rtnl.ReceiveBuffer, true); err != nil {
		socket.Close()
		return nil, fmt.Errorf("set the receive buffer of group %d of netlink protocol %d: %w", group, protocol, err)
	}
	go func() {
		<-done
		socket.Close()
	}()
	changed := make(chan struct{}, 1)
	receive := func() error {
		for {
			messages, from, err := socket.Receive()
			if err != nil {
				return err
			}
			if from.Pid != nl.PidKernel || !slices.ContainsFunc(messages, matters) {
				continue
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}
	go func() { onError(recovery.Call(boundaryName, recovery.Part("ONCache netlink subscription"), receive)) }()
	return changed, nil
}

func anyMessage(syscall.NetlinkMessage) bool { return true }

// changesNexthop reports whether a message is about a nexthop object that a route may use. A new object is not used by any.
func changesNexthop(m syscall.NetlinkMessage) bool {
	return m.Header.Type == unix.RTM_DELNEXTHOP || m.Header.Type == unix.RTM_NEWNEXTHOP && m.Header.Flags&unix.NLM_F_REPLACE != 0
}
