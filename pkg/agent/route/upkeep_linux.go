// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
	"github.com/antrea-oncache/antrea/pkg/nlattr"
)

const (
	// networkInterval is the time between two looks at what makes no events, such as ipsets and most sysctls.
	networkInterval = 10 * time.Second
	// firewallInterval is the time between two questions whether any rule of nf_tables has changed, which cost microseconds.
	firewallInterval = 2 * time.Second
)

// Upkeep implements Interface.
func (c *Client) Upkeep() []upkeep.Part {
	return []upkeep.Part{
		{
			Name: "host network", Every: networkInterval, Events: upkeep.Links | upkeep.Addresses | upkeep.Routes | upkeep.Settings,
			Repair: func(context.Context) error { return c.each((*stack).sync) },
		},
		{
			Name: "firewall", Every: firewallInterval,
			Repair: func(ctx context.Context) error {
				return c.each(func(s *stack) error { return s.lookAtFirewall(ctx) })
			},
		},
	}
}

// lookAtFirewall applies the rules again if others have changed them.
func (s *stack) lookAtFirewall(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	// Before the rules are read, so that the next look finds what is changed after that.
	generation := w.generation()
	now := time.Now()
	other, err := w.otherChanged(ctx, now)
	if err != nil {
		return err
	}
	if !other && !w.kept.doubtful(now, generation) {
		return nil
	}
	if other || w.kept.own == nil || now.Sub(w.kept.applied) >= applyInterval {
		return w.apply(ctx)
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	if !w.kept.intact(w.jumps, rules) {
		klog.InfoS("Another program has changed the agent's rules, applying them again", "family", s.family.name)
		return w.apply(ctx)
	}
	w.foreign.report(w.family, rules)
	w.kept.seen, w.kept.generation = now, generation
	return nil
}

// generation returns the kernel's count of changes of nf_tables; 0 if it says nothing about the rules, as with the legacy variant of iptables.
func (w *firewall) generation() uint32 {
	if program, err := filepath.EvalSymlinks(w.save); err != nil || strings.Contains(program, "legacy") {
		return 0
	}
	generation, err := readGeneration()
	if err != nil {
		return 0
	}
	return generation
}

// Messages of nf_tables, from include/uapi/linux/netfilter/nf_tables.h.
const (
	messageGetGeneration  = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN
	attributeGenerationID = 1 // NFTA_GEN_ID, big endian
	generationHeader      = 4 // struct nfgenmsg
)

// readGeneration returns the number of changes that nf_tables of this network namespace has had.
func readGeneration() (uint32, error) {
	request := nl.NewNetlinkRequest(messageGetGeneration, 0)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: unix.NFNETLINK_V0})
	answers, err := request.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return 0, fmt.Errorf("read the generation of nf_tables: %w", err)
	}
	for _, answer := range answers {
		if len(answer) < generationHeader {
			continue
		}
		attributes, err := nlattr.Parse(answer[generationHeader:])
		if err != nil {
			return 0, fmt.Errorf("read the generation of nf_tables: %w", err)
		}
		for _, a := range attributes {
			if a.Attr.Type == attributeGenerationID && len(a.Value) == 4 {
				return binary.BigEndian.Uint32(a.Value), nil
			}
		}
	}
	return 0, errors.New("read the generation of nf_tables: the kernel's answer has none")
}
