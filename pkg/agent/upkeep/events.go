// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Events is a set of kinds of events.
type Events uint

// Kinds of events. Settings are the settings in /proc/sys/net whose changes the kernel reports, such as ip_forward.
const (
	Links Events = 1 << iota
	Addresses
	Routes
	Settings
	allEvents = Links | Addresses | Routes | Settings
)

// groups are the netlink groups that tell of the events (linux/rtnetlink.h).
var groups = []uint{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
}

const (
	// After maxMessages the reader rests for readPause: a routing daemon with a million routes, or a program that keeps
	// making devices, must not keep the agent busy. The kernel reports messages that do not fit the socket as lost.
	maxMessages = 64
	readPause   = 100 * time.Millisecond
	// silence is the time without a message after which the reader counts from 0.
	silence = time.Second
	// resubscribeDelay is the time from a subscription that has failed to the next one.
	resubscribeDelay = 5 * time.Second
)

// watch tells of events until ctx ends. Events that may have been lost count as events of all kinds.
func watch(ctx context.Context, tell func(Events)) {
	for ctx.Err() == nil {
		err := subscribe(ctx, tell)
		if ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "Changes on this Node are noticed later for now, will subscribe to them again", "after", resubscribeDelay)
		tell(allEvents)
		_ = retry.Sleep(ctx, resubscribeDelay)
	}
}

// subscribe tells of events until ctx ends or the subscription fails.
func subscribe(ctx context.Context, tell func(Events)) error {
	socket, err := nl.Subscribe(unix.NETLINK_ROUTE, groups...)
	if err != nil {
		return fmt.Errorf("subscribe to changes of the network: %w", err)
	}
	defer socket.Close()
	wait := unix.NsecToTimeval(silence.Nanoseconds())
	if err := socket.SetReceiveTimeout(&wait); err != nil {
		return fmt.Errorf("subscribe to changes of the network: %w", err)
	}
	for read := 0; ctx.Err() == nil; {
		events, err := receive(socket)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			read = 0
			continue
		case err != nil:
			return fmt.Errorf("read changes of the network: %w", err)
		}
		tell(events)
		if read++; read == maxMessages {
			read = 0
			_ = retry.Sleep(ctx, readPause)
		}
	}
	return nil
}

// receive returns the events of one message of the socket.
func receive(socket *nl.NetlinkSocket) (events Events, err error) {
	messages, from, err := socket.Receive()
	if errors.Is(err, unix.ENOBUFS) {
		return allEvents, nil
	}
	if err != nil || from.Pid != nl.PidKernel {
		return 0, err
	}
	for _, m := range messages {
		events |= eventOf(m)
	}
	return events, nil
}

// eventOf returns the kind of a message.
func eventOf(m syscall.NetlinkMessage) Events {
	switch m.Header.Type {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return Links
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return Addresses
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE, unix.RTM_NEWRULE, unix.RTM_DELRULE:
		return Routes
	case unix.RTM_NEWNETCONF, unix.RTM_DELNETCONF:
		return Settings
	}
	return 0
}
