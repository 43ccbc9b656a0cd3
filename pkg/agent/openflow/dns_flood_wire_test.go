// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// realized installs no rules.
type realized struct{}

func (realized) RealizeNames(_ []fqdn.Selector, done func(map[fqdn.Selector]error)) { go done(nil) }

// busySwitch lets no answer pass while the test holds the lock: the agent falls behind.
type busySwitch struct {
	of.Switch
	sync.Mutex
}

func (s *busySwitch) Resume(ctx context.Context, p *of.PacketIn, changes ...of.Match) error {
	s.Lock()
	defer s.Unlock()
	return s.Switch.Resume(context.WithoutCancel(ctx), p, changes...)
}

// A Pod gets more answers of DNS at once than its meter lets pass, and that are more than the agent has places for. Answers to another Pod, one in
// each part of the flood, all arrive.
func TestWireFloodOfAnswersAtOnce(t *testing.T) {
	w := newWire(t, false)
	h := newHolder(t, w)
	sw := &busySwitch{Switch: h.sw}
	names := fqdn.New(fqdn.Config{Switch: sw, Flows: w.C, MTU: 1450})
	names.SetRealizer(realized{})
	require.NoError(t, names.Declare(map[string]fqdn.Use{"p": {Selectors: []fqdn.Selector{"*.test"}, Pods: []policy.Pod{oftest.PolicyPodA, oftest.PolicyPodB}}}))
	h.settle()
	questions := map[uint32]segment{oftest.PodAPort: {"10.10.0.11:4000", "10.10.1.20:53", ""}, oftest.PodBPort: {"10.10.0.12:4000", "10.10.1.20:53", ""}}
	frames := map[uint32][]byte{}
	for pod, question := range questions {
		w.pass(pod, question, oftest.TunnelPort, question)
		frames[pod] = answerFrame(t, reversed(question, ""))
		w.links[oftest.TunnelPort].inject(frames[pod])
		h.held(pod)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- names.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	// Both Pods get an answer: the agent listens.
	for pod := range questions {
		require.Eventually(t, func() bool {
			w.links[oftest.TunnelPort].inject(frames[pod])
			return w.links[pod].pending()
		}, 20*time.Second, 10*time.Millisecond)
		for w.links[pod].pending() {
			w.links[pod].next()
		}
	}
	// Open vSwitch takes 32 frames of a port at a time: none is lost at the dummy port, which keeps 100.
	const parts, flood = 50, 29
	part := append([][]byte{frames[oftest.PodBPort]}, slices.Repeat([][]byte{frames[oftest.PodAPort]}, flood)...)
	sw.Lock()
	for range parts {
		w.Inject("antrea-tun0", part...)
	}
	sw.Unlock()
	arrived := map[uint32]int{}
	defer func() {
		t.Logf("answers to port %d: %d, to %d: %d", oftest.PodAPort, arrived[oftest.PodAPort], oftest.PodBPort, arrived[oftest.PodBPort])
	}()
	require.Eventually(t, func() bool {
		for pod := range questions {
			for w.links[pod].pending() {
				w.links[pod].next()
				arrived[pod]++
			}
		}
		return arrived[oftest.PodBPort] >= parts
	}, 20*time.Second, time.Millisecond)
}

// answerFrame is an answer of DNS.
func answerFrame(t *testing.T, s segment) []byte {
	t.Helper()
	name := dnsmessage.MustNewName("flood.test.")
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: true})
	require.NoError(t, b.StartQuestions())
	require.NoError(t, b.Question(dnsmessage.Question{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}))
	require.NoError(t, b.StartAnswers())
	require.NoError(t, b.AResource(dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 600}, dnsmessage.AResource{A: [4]byte{10, 20, 0, 1}}))
	message, err := b.Finish()
	require.NoError(t, err)
	network, transport := s.headers(t)
	eth := &layers.Ethernet{SrcMAC: macs[oftest.TunnelPort][0], DstMAC: macs[oftest.TunnelPort][1], EthernetType: layers.EthernetTypeIPv4}
	return serialize(t, eth, network.(gopacket.SerializableLayer), transport, gopacket.Payload(message))
}
