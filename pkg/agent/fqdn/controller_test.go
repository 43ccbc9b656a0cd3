// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// record is an address in a message, with its TTL in seconds.
type record struct {
	address string
	ttl     uint32
}

// message builds an answer.
func message(t testing.TB, name string, kind dnsmessage.Type, records ...record) []byte {
	t.Helper()
	full := dnsmessage.MustNewName(name)
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: true})
	b.EnableCompression()
	require.NoError(t, b.StartQuestions())
	require.NoError(t, b.Question(dnsmessage.Question{Name: full, Type: kind, Class: dnsmessage.ClassINET}))
	require.NoError(t, b.StartAnswers())
	for _, r := range records {
		header := dnsmessage.ResourceHeader{Name: full, Class: dnsmessage.ClassINET, TTL: r.ttl}
		if addr := netip.MustParseAddr(r.address); addr.Is4() {
			require.NoError(t, b.AResource(header, dnsmessage.AResource{A: addr.As4()}))
		} else {
			require.NoError(t, b.AAAAResource(header, dnsmessage.AAAAResource{AAAA: addr.As16()}))
		}
	}
	m, err := b.Finish()
	require.NoError(t, err)
	return m
}

const podPort = 7

func frameOf(t testing.TB, transport gopacket.SerializableLayer, data []byte) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 96, 0, 10}, DstIP: []byte{10, 10, 0, 11}}
	if transport.LayerType() == layers.LayerTypeTCP {
		ip.Protocol = layers.IPProtocolTCP
	}
	require.NoError(t, transport.(interface {
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	}).SetNetworkLayerForChecksum(ip))
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}, ip, transport, gopacket.Payload(data)))
	return b.Bytes()
}

func datagram(t testing.TB, data []byte) []byte {
	return frameOf(t, &layers.UDP{SrcPort: 53, DstPort: 4000}, data)
}

func tcpSegment(t testing.TB, seq uint32, syn bool, data []byte) []byte {
	return frameOf(t, &layers.TCP{SrcPort: 53, DstPort: 4000, Seq: seq, SYN: syn, ACK: true, Window: 1000}, data)
}

func withLength(m []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)
}

// world contains the surroundings of a Controller.
type world struct {
	t    *testing.T
	c    *Controller
	fake *of.Fake

	mu      sync.Mutex
	held    map[string]uint32
	resumed [][]byte
	// fragments is the number of frames sent in place of resumed packets.
	fragments int
	// requests are open; automatic ones succeed at once.
	requests  []request
	automatic bool
	// refusal, if set, is the outcome of all requests.
	refusal map[Selector]error
	answers map[string]map[netip.Addr]time.Duration
	queries []string
}

type request struct {
	selectors []Selector
	done      func(map[Selector]error)
}

// setRefusal also ends open requests.
func (w *world) setRefusal(failed map[Selector]error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		go r.done(failed)
	}
	w.refusal, w.requests = failed, nil
}

func (w *world) HoldDNS(ports map[string]uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = maps.Clone(ports)
	return nil
}

func (w *world) SendDNSFragment(_ context.Context, _, to uint32, _ []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.EqualValues(w.t, podPort, to)
	w.fragments++
	return nil
}

func (w *world) PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error) {
	return w.fake.PacketIns(ctx, id, capacity, sender)
}

func (w *world) Resume(_ context.Context, p *of.PacketIn, _ ...of.Match) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resumed = append(w.resumed, p.Data)
	return nil
}

func (w *world) RealizeNames(selectors []Selector, done func(map[Selector]error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refusal != nil {
		go done(w.refusal)
		return
	}
	if w.automatic {
		go done(nil)
		return
	}
	w.requests = append(w.requests, request{selectors, done})
}

func (w *world) Lookup(_ context.Context, name string) (Found, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queries = append(w.queries, name)
	return Found{w.answers[name], Versions{true, true}}, nil
}

func newWorld(t *testing.T, file string) *world {
	w := &world{t: t, fake: of.NewFake(), automatic: true, answers: map[string]map[netip.Addr]time.Duration{}}
	_, err := w.fake.Connect(t.Context())
	require.NoError(t, err)
	w.c = New(Config{Switch: w, Flows: w, Asks: w, File: file, MTU: 1450})
	w.c.SetRealizer(w)
	return w
}

func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.c.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		require.NoError(w.t, <-ended)
	})
}

func (w *world) declare(selectors ...Selector) {
	w.t.Helper()
	require.NoError(w.t, w.c.Declare(map[string]Use{"p": {Selectors: selectors, Pods: []policy.Pod{{InterfaceName: "pod-a", OFPort: podPort}}}}))
	require.Equal(w.t, map[string]uint32{"pod-a": podPort}, w.held)
}

// packet delivers a held packet.
func (w *world) packet(frame []byte) {
	w.t.Helper()
	p, err := of.PausedPacketIn(of.PacketIn{Data: frame, UserData: []byte{openflow.DNSCategory}, Metadata: []of.Match{{Field: of.FieldReg0 + 1, Value: []byte{0, 0, 0, podPort}}}})
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool { return w.fake.SendPacketIn(openflow.DNSController, p) == 1 }, 10*time.Second, time.Millisecond)
}

func (w *world) requireResumed(n int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.resumed) == n }, 10*time.Second, time.Millisecond, "%d answers", n)
}

func (w *world) next() request {
	w.t.Helper()
	var r request
	require.Eventually(w.t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.requests) == 0 {
			return false
		}
		r, w.requests = w.requests[0], w.requests[1:]
		return true
	}, 10*time.Second, time.Millisecond, "no rules are asked for")
	return r
}

func (w *world) droppedFor(reason string) uint64 {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.dropped[reason]
}

func (w *world) addresses(s Selector) string {
	return fmt.Sprint(slices.Collect(w.c.Addresses(s).All()))
}

// An answer passes when the rules have its addresses, and not earlier; a second one with the same addresses neither.
func TestAnswersWait(t *testing.T) {
	w := newWorld(t, "")
	w.automatic = false
	w.declare("*.Example.com.", "other.com")
	stop := w.run()
	defer stop()
	a := datagram(t, message(t, "A.example.com.", dnsmessage.TypeA, record{"10.0.0.1", 5}, record{"10.0.0.2", 60}))
	w.packet(a)
	r := w.next()
	require.Equal(t, []Selector{"*.example.com"}, r.selectors)
	require.Equal(t, "[10.0.0.1 10.0.0.2]", w.addresses("*.example.com"))
	w.packet(a)
	w.packet(datagram(t, message(t, "unknown.org.", dnsmessage.TypeA, record{"10.0.0.9", 5})))
	w.packet(datagram(t, message(t, "a.example.com.", dnsmessage.TypeAAAA)))
	w.requireResumed(2)
	r.done(nil)
	w.requireResumed(4)
	require.Empty(t, w.requests)

	// Rules that the switch refuses: the answer is lost, and so is the next one, but it asks again.
	b := datagram(t, message(t, "a.example.com.", dnsmessage.TypeA, record{"10.0.0.3", 5}))
	w.packet(b)
	// It is asked for again and again as long as an answer waits.
	refused := map[Selector]error{"*.example.com": fmt.Errorf("refused")}
	w.next().done(refused)
	w.next().done(refused)
	w.setRefusal(refused)
	require.Eventually(t, func() bool { return w.droppedFor(droppedLate) == 1 }, 10*time.Second, time.Millisecond)
	w.setRefusal(nil)
	w.packet(b)
	w.next().done(nil)
	w.requireResumed(5)

	// Rules of another name do not keep it.
	w.packet(datagram(t, message(t, "other.com.", dnsmessage.TypeA, record{"10.0.0.4", 5})))
	stuck := w.next()
	w.packet(datagram(t, message(t, "b.example.com.", dnsmessage.TypeA, record{"10.0.0.5", 5})))
	w.next().done(nil)
	w.requireResumed(6)
	stuck.done(nil)
	w.requireResumed(7)
}

func TestDamagedAnswersAreDropped(t *testing.T) {
	w := newWorld(t, "")
	w.declare("*")
	defer w.run()()
	good := message(t, "a.b.", dnsmessage.TypeA, record{"10.0.0.1", 5}, record{"10.0.0.2", 5})
	loop := message(t, "a.b.", dnsmessage.TypeA, record{"10.0.0.1", 5})
	copy(loop[12:], []byte{0xc0, 12}) // the question's name points to itself
	for i, damaged := range [][]byte{good[:len(good)-1], good[:40], good[:5], nil, loop} {
		w.packet(datagram(t, damaged))
		require.Eventually(t, func() bool { return w.droppedFor(droppedDamaged) == uint64(i+1) }, 10*time.Second, time.Millisecond)
	}
	var many []record
	for i := range maxAddresses + 1 {
		many = append(many, record{fmt.Sprintf("10.1.%d.%d", i/256, i%256), 5})
	}
	w.packet(datagram(t, message(t, "a.b.", dnsmessage.TypeA, many...)))
	require.Eventually(t, func() bool { return w.droppedFor(droppedDamaged) == 6 }, 10*time.Second, time.Millisecond)
	require.Equal(t, "[]", w.addresses("*"))
	w.packet(datagram(t, good))
	w.requireResumed(1)
	require.Equal(t, "[10.0.0.1 10.0.0.2]", w.addresses("*"))
}

// aliases is an answer about a.b. with this number of CNAME records, each the alias of the next one and the last one of the first one, and an address.
// A message has room for 4,000 of them.
func aliases(t *testing.T, number int) []byte {
	m := message(t, "a.b.", dnsmessage.TypeA, record{"10.0.0.1", 5})
	const question, address = 12, 12 + 9 // of its name, and of the record of the address
	var chain []byte
	for i := range number {
		// The target is a label of two bytes before the name of the question.
		chain = append(chain, 0xc0, question, 0, byte(dnsmessage.TypeCNAME), 0, byte(dnsmessage.ClassINET), 0, 0, 0, 5, 0, 5, 2, byte(i>>8), byte(i), 0xc0, question)
	}
	chain[len(chain)-4] = 0xc0 // a pointer behind its own beginning, to the name of the question: a loop of names
	m = slices.Concat(m[:address], chain, m[address:])
	binary.BigEndian.PutUint16(m[6:], uint16(number+1))
	return m
}

// An answer with thousands of names, or with names in a loop, gives the name of its question its addresses, and no other name.
func TestAnswersWithManyNames(t *testing.T) {
	const most = (65535 - 50) / 17
	many := aliases(t, most)
	a, err := parseAnswer(many)
	require.NoError(t, err)
	require.Equal(t, "a.b", a.name)
	require.Len(t, a.addresses, 1)

	w := newWorld(t, "")
	w.declare("*")
	defer w.run()()
	w.packet(tcpSegment(t, 1, true, nil))
	w.packet(tcpSegment(t, 2, false, withLength(aliases(t, 60))))
	w.requireResumed(2)
	require.Equal(t, "[10.0.0.1]", w.addresses("*"))

	for name, damage := range map[string]func([]byte){
		"more records than the message has":      func(m []byte) { binary.BigEndian.PutUint16(m[6:], 10000) },
		"the owner of a record points to itself": func(m []byte) { m[22] = 21 },
		"the owner points behind the message":    func(m []byte) { m[21], m[22] = 0xff, 0xff },
	} {
		m := aliases(t, 60)
		damage(m)
		_, err := parseAnswer(m)
		require.Error(t, err, name)
	}
}

// Over TCP, only the segment that completes a message waits. The order of segments does not matter.
func TestAnswersOverTCP(t *testing.T) {
	w := newWorld(t, "")
	w.automatic = false
	w.declare("*")
	defer w.run()()
	var many []record
	for i := range 180 {
		many = append(many, record{fmt.Sprintf("10.1.0.%d", i), 60})
	}
	large := withLength(message(t, "large.", dnsmessage.TypeA, many...))
	require.Greater(t, len(large), 2900)
	first := uint32(0xfffffff0) // it wraps around
	w.packet(tcpSegment(t, first-1, true, nil))
	w.packet(tcpSegment(t, first, false, large[:1]))
	w.packet(tcpSegment(t, first+1400, false, large[1400:2800]))
	w.packet(tcpSegment(t, first+2800, false, large[2800:]))
	w.requireResumed(4)
	require.Equal(t, "[]", w.addresses("*"))
	w.packet(tcpSegment(t, first, false, large[:1400]))
	r := w.next()
	w.packet(tcpSegment(t, first, false, large[:1400])) // a repetition
	w.requireResumed(4)
	require.Equal(t, 180, w.c.Addresses("*").Len())
	r.done(nil)
	w.requireResumed(6)

	// Two messages in one segment, and one that is damaged: nothing passes from then on.
	second := withLength(message(t, "second.", dnsmessage.TypeA, record{"10.2.0.1", 60}))
	third := withLength(message(t, "third.", dnsmessage.TypeA, record{"10.2.0.2", 60}))
	next := first + uint32(len(large))
	w.packet(tcpSegment(t, next, false, append(slices.Clone(second), third...)))
	w.next().done(nil)
	w.requireResumed(7)
	require.Equal(t, 182, w.c.Addresses("*").Len())
	next += uint32(len(second) + len(third))
	w.packet(tcpSegment(t, next, false, withLength(second[2:20])))
	w.packet(tcpSegment(t, next+20, false, second))
	require.Eventually(t, func() bool { return w.droppedFor(droppedDamaged) == 2 }, 10*time.Second, time.Millisecond)

	// The agent was away when the connection was opened: it continues with a message, not within one.
	w.packet(tcpSegment(t, 5000, true, nil))
	w.requireResumed(8)
	w.packet(frameOf(t, &layers.TCP{SrcPort: 53, DstPort: 4001, Seq: 1}, second))
	w.requireResumed(9)
	w.packet(frameOf(t, &layers.TCP{SrcPort: 53, DstPort: 4002, Seq: 1}, second[5:]))
	require.Eventually(t, func() bool { return w.droppedFor(droppedDamaged) == 3 }, 10*time.Second, time.Millisecond)
}

// An exact name is asked for at once, and again when it expires.
func TestOwnQueries(t *testing.T) {
	w := newWorld(t, "")
	w.answers["db.com"] = map[netip.Addr]time.Duration{netip.MustParseAddr("10.0.0.1"): time.Second}
	defer w.run()()
	w.declare("DB.com.", "*.x")
	require.Eventually(t, func() bool { return w.addresses("db.com") == "[10.0.0.1]" }, 10*time.Second, time.Millisecond)
	w.mu.Lock()
	w.answers["db.com"] = map[netip.Addr]time.Duration{netip.MustParseAddr("10.0.0.2"): time.Minute}
	w.mu.Unlock()
	require.Eventually(t, func() bool { return w.addresses("db.com") == "[10.0.0.2]" }, 10*time.Second, time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Equal(t, []string{"db.com", "db.com"}, w.queries)
}

// Pods that no policy needs any more leave, later than the rules.
func TestPodsLeave(t *testing.T) {
	w := newWorld(t, "")
	defer w.run()()
	w.declare("*.x")
	require.NoError(t, w.c.Declare(map[string]Use{"p": {}}))
	require.Len(t, w.held, 1)
	require.Eventually(t, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.held) == 0 }, 10*time.Second, time.Millisecond)
}

func TestSavedAddresses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policies", "names.json")
	w := newWorld(t, file)
	stop := w.run()
	w.declare("*.x")
	w.packet(datagram(t, message(t, "a.x.", dnsmessage.TypeA, record{"10.0.0.1", 60}, record{"10.0.0.2", 0})))
	w.requireResumed(1)
	stop()

	w = newWorld(t, file)
	require.Equal(t, "[10.0.0.1 10.0.0.2]", w.addresses("*.x"), "before the first packet")
	require.Equal(t, "[10.0.0.1 10.0.0.2]", w.addresses("a.x"))
	w.declare("*.x")
	stop = w.run()
	w.packet(datagram(t, message(t, "a.x.", dnsmessage.TypeA, record{"10.0.0.1", 60})))
	w.requireResumed(1)
	stop()
	for _, damage := range []string{"", "{", `[{"name":"a.x","address":"10.0.0.300"}]`, `[{"name":"a.x"},{"name":"b.x","address":"10.0.0.1","expires":"9999-01-01T00:00:00Z"}]`} {
		require.NoError(t, os.WriteFile(file, []byte(damage), 0o600))
		require.Equal(t, "[]", newWorld(t, file).addresses("*.x"), damage)
	}
}

// Addresses that have expired while the agent was away stay until an answer lacks them, and are asked for at once. No answer is none that
// lacks them.
func TestExpiredSavedAddresses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"name":"a.x","address":"10.0.0.1","expires":"2001-01-01T00:00:00Z"},
		{"name":"a.x","address":"10.0.0.2","expires":"2001-01-01T00:00:00Z"},{"name":"b.x","address":"fd00::1","expires":"2001-01-01T00:00:00Z"}]`), 0o600))
	w := newWorld(t, file)
	w.declare("*.x")
	require.Equal(t, "[10.0.0.1 10.0.0.2 fd00::1]", w.addresses("*.x"))
	w.c.cache.failed("a.x", w.c.config.Clock.Now())
	require.Equal(t, "[10.0.0.1 10.0.0.2 fd00::1]", w.addresses("*.x"), "no answer")
	require.Equal(t, []string{"b.x"}, w.c.cache.takeDue(9, w.c.config.Clock.Now()))

	w = newWorld(t, file)
	w.answers["a.x"] = map[netip.Addr]time.Duration{netip.MustParseAddr("10.0.0.2"): time.Hour}
	w.declare("*.x")
	defer w.run()()
	require.Eventually(t, func() bool { return w.addresses("*.x") == "[10.0.0.2]" }, 10*time.Second, time.Millisecond, "b.x has no address any more")
}
