// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdn

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		selector, name string
		want           bool
	}{
		{"foo.com", "foo.com", true}, {"foo.com", "xfoo.com", false}, {"foo.com", "foo.co", false}, {"foo.com", "fooxcom", false},
		{"*foo.com", "foo.com", true}, {"*foo.com", "xfoo.com", true}, {"*foo.com", "a.b.foo.com", true}, {"*foo.com", "foo.com.evil", false},
		{"*.foo.com", "foo.com", false}, {"*.foo.com", "a.foo.com", true}, {"*.foo.com", "a.b.foo.com", true}, {"*.foo.com", ".foo.com", true},
		{"a*b*c", "abc", true}, {"a*b*c", "axbxbc", true}, {"a*b*c", "axbxb", false}, {"*", "x", true}, {"*", "", true}, {"", "", false}, {"", "x", false},
		{"a*", "a", true}, {"a**", "a", true}, {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false},
	} {
		require.Equal(t, test.want, matches(test.selector, test.name), "%+v", test)
	}
	require.Equal(t, "stackoverflow.com", Normalize("Stackoverflow.com."))
}

// start is the time of the first event.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// says is an answer about IPv4: addresses and their TTLs in seconds.
func says(name string, addresses ...any) answer {
	a := answer{name: name, v4: true, addresses: map[netip.Addr]time.Duration{}}
	for i := 0; i < len(addresses); i += 2 {
		a.addresses[netip.MustParseAddr(addresses[i].(string))] = time.Duration(addresses[i+1].(int)) * time.Second
	}
	return a
}

// whole is an answer about both IP versions.
func whole(a answer) answer {
	a.v4, a.v6 = true, true
	return a
}

func (c *cache) text(s Selector) string {
	if c.selectors[s] == nil {
		return "unknown"
	}
	return fmt.Sprint(slices.Collect(c.selectors[s].set.All()))
}

func TestTTLs(t *testing.T) {
	c := newCache(0)
	c.add("db.example.com", at(0))
	require.Equal(t, []string{"db.example.com"}, c.takeDue(10, at(0)))
	require.Empty(t, c.takeDue(10, at(100)), "until the answer is there")
	answered := func(seconds int, a answer) []Selector {
		t.Helper()
		_, err := c.answered(a, 5, at(seconds))
		require.NoError(t, err)
		return c.takeChanged()
	}
	// Each address has its own TTL.
	require.Equal(t, []Selector{"db.example.com"}, answered(0, says("db.example.com", "10.0.0.1", 5, "10.0.0.2", 60)))
	require.Empty(t, answered(1, says("db.example.com", "10.0.0.1", 5, "10.0.0.2", 10)), "the later time counts")
	require.Empty(t, answered(3, says("db.example.com", "10.0.0.2", 60)), "10.0.0.1 is absent, not expired")
	require.Equal(t, "[10.0.0.1 10.0.0.2]", c.text("db.example.com"))
	require.Equal(t, []string{"db.example.com"}, c.takeDue(10, at(6)))
	v6 := says("db.example.com", "fd00::1", 60)
	v6.v4, v6.v6 = false, true
	require.Equal(t, []Selector{"db.example.com"}, answered(7, v6))
	require.Equal(t, "[10.0.0.1 10.0.0.2 fd00::1]", c.text("db.example.com"), "the answer is not about IPv4")
	c.asked(whole(says("db.example.com", "10.0.0.2", 60, "fd00::1", 60)), at(7))
	require.Equal(t, []Selector{"db.example.com"}, c.takeChanged())
	require.Equal(t, "[10.0.0.2 fd00::1]", c.text("db.example.com"))

	c = newCache(20 * time.Second)
	c.add("*.example.com", at(0))
	require.NotEmpty(t, answered(0, says("a.example.com", "10.0.0.1", 5)))
	require.NotEmpty(t, answered(19, says("a.example.com", "10.0.0.2", 5)))
	require.Equal(t, "[10.0.0.1 10.0.0.2]", c.text("*.example.com"))
	require.NotEmpty(t, answered(20, says("a.example.com", "10.0.0.2", 5)))
	require.Equal(t, "[10.0.0.2]", c.text("*.example.com"))
}

func TestSelectors(t *testing.T) {
	c := newCache(0)
	of, err := c.answered(says("a.example.com", "10.0.0.1", 5), 5, at(0))
	require.NoError(t, err)
	require.Empty(t, of, "no rule contains the name")
	c.add("*.example.com", at(0))
	require.Empty(t, c.takeDue(10, at(0)), "a pattern is not asked for")
	of, err = c.answered(says("a.example.com", "10.0.0.1", 5), 5, at(0))
	require.NoError(t, err)
	require.Equal(t, []Selector{"*.example.com"}, of)
	of, err = c.answered(says("a.example.com"), 5, at(0))
	require.NoError(t, err)
	require.Empty(t, of, "an answer without addresses does not wait")

	c.add("a*", at(1))
	require.Equal(t, []Selector{"*.example.com", "a*"}, c.takeChanged())
	c.add("a.example.com", at(1))
	require.Equal(t, "[10.0.0.1]", c.text("a.example.com"))
	require.Equal(t, []string{"a.example.com"}, c.takeDue(10, at(1)))
	_, err = c.answered(says("ab", "10.0.0.1", 5), 5, at(1))
	require.NoError(t, err)
	c.remove("*.example.com")
	c.remove("a.example.com")
	require.Len(t, c.names, 2)
	require.Equal(t, "[10.0.0.1]", c.text("a*"))
	c.asked(whole(says("ab")), at(6))
	require.Equal(t, "[10.0.0.1]", c.text("a*"), "two names have the address")
	c.asked(whole(says("a.example.com")), at(7))
	require.Equal(t, "[]", c.text("a*"))
	require.Empty(t, c.names, "names of patterns without addresses are forgotten")
	c.remove("a*")
	require.Empty(t, c.pods.all.elements)
}

func TestFailedQueries(t *testing.T) {
	c := newCache(0)
	c.add("a.b", at(0))
	now := 0
	for _, wait := range []int{5, 10, 20, 40, 80, 160, 300, 300} {
		require.Len(t, c.takeDue(1, at(now)), 1)
		c.failed("a.b", at(now))
		require.Empty(t, c.takeDue(1, at(now+wait-1)))
		now += wait
	}
	require.Len(t, c.takeDue(1, at(now)), 1)
	c.asked(whole(says("a.b")), at(now))
	require.Empty(t, c.takeDue(1, at(now+299)))
	require.Len(t, c.takeDue(1, at(now+300)), 1, "a name may get addresses")
}

// A server that answers for one IP version only gives its addresses, and removes expired ones of this version. It is asked again like one that does not
// answer, but not later than the next address expires.
func TestPartlyFailedQueries(t *testing.T) {
	c := newCache(0)
	c.add("a.b", at(0))
	c.asked(whole(says("a.b", "10.0.0.1", 100, "fd00::1", 100)), at(0))
	require.Len(t, c.takeDue(1, at(100)), 1)
	c.asked(says("a.b", "10.0.0.2", 1000), at(100))
	require.Equal(t, "[10.0.0.2 fd00::1]", c.text("a.b"))
	now := 100
	for _, wait := range []int{5, 10, 20, 40, 80, 160, 300} {
		require.Empty(t, c.takeDue(1, at(now+wait-1)))
		now += wait
		require.Len(t, c.takeDue(1, at(now)), 1, now)
		c.asked(says("a.b", "10.0.0.2", 1000), at(now))
	}
	c.asked(says("a.b", "10.0.0.3", 50), at(now))
	require.Len(t, c.takeDue(1, at(now+50)), 1, "10.0.0.3 may be another address now")
	c.asked(whole(says("a.b", "10.0.0.3", 5000)), at(now+1000))
	require.Equal(t, "[10.0.0.3]", c.text("a.b"))
	require.Empty(t, c.takeDue(1, at(now+5000)))

	// Of a name of a pattern, a failure says nothing.
	c.add("*.x", at(0))
	_, err := c.answered(says("a.x", "10.0.0.1", 5), 5, at(0))
	require.NoError(t, err)
	c.asked(answer{name: "a.x"}, at(10))
	require.Equal(t, "[10.0.0.1]", c.text("*.x"))
	c.asked(says("a.x"), at(20))
	require.Equal(t, "[]", c.text("*.x"))
	require.Contains(t, c.names, "a.x")
	c.asked(whole(says("a.x")), at(30))
	require.NotContains(t, c.names, "a.x")
}

func TestBounds(t *testing.T) {
	c := newCache(0)
	c.add("*.a", at(0))
	c.add("exact.a", at(0))
	resolve := func(name string, asker Asker) {
		t.Helper()
		_, err := c.answered(says(name, "10.0.0.1", 5), asker, at(0))
		require.NoError(t, err)
	}
	resolve("exact.a", 1)
	for i := range maxPatternNames {
		resolve(fmt.Sprintf("n%d.a", i), Asker(1+i%20))
	}
	resolve("n0.a", 1)
	require.Zero(t, c.evictions[limitSelector])
	resolve("new.a", 21)
	require.Contains(t, c.names, "n0.a")
	require.NotContains(t, c.names, "n1.a", "the least recently resolved")
	require.Len(t, c.names, maxPatternNames+1, "exact names are not counted")
	require.Equal(t, map[string]uint64{limitSelector: 1}, c.evictions)

	// One Pod resolves names of its own: it loses them itself.
	for i := range 5000 {
		resolve(fmt.Sprintf("flood%d.a", i), 99)
	}
	require.Contains(t, c.names, "flood4999.a")
	others := 0
	for text := range c.names {
		if text[0] == 'n' {
			others++
		}
	}
	require.GreaterOrEqual(t, others, maxPatternNames-maxPatternNames/parts-1)
	require.Contains(t, c.names, "exact.a")

	// Names of another pattern have another limit, and all together one.
	for i := range 20 {
		c.add(Selector(fmt.Sprintf("*.p%d", i)), at(0))
	}
	for i := range 20 * maxPatternNames {
		resolve(fmt.Sprintf("n%d.p%d", i/20, i%20), Asker(1+i%40))
	}
	require.Len(t, c.names, maxNames+1)
	require.NotZero(t, c.evictions[limitTotal])
	require.Contains(t, c.names, "exact.a")
}

func TestBoundsOfAddresses(t *testing.T) {
	c := newCache(0)
	c.add("*", at(0))
	many := func(name string, first, n int) answer {
		a := says(name)
		for i := range n {
			a.addresses[netip.AddrFrom4([4]byte{10, byte((first + i) >> 16), byte((first + i) >> 8), byte(first + i)})] = time.Second
		}
		return a
	}
	_, err := c.answered(many("victim", 0, 3), 1, at(0))
	require.NoError(t, err)
	_, err = c.answered(many("big", 0, maxAddresses+1), 9, at(0))
	require.ErrorIs(t, err, errTooMany)
	require.NotContains(t, c.names, "big")
	_, err = c.answered(many("big", 0, maxAddresses), 9, at(0))
	require.NoError(t, err)
	_, err = c.answered(many("big", maxAddresses, 1), 9, at(0))
	require.ErrorIs(t, err, errTooMany, "the others have not expired")
	_, err = c.answered(many("big", maxAddresses, 1), 9, at(1))
	require.NoError(t, err)
	for i := range 200 {
		_, err = c.answered(many(fmt.Sprint("n", i), i*maxAddresses, maxAddresses), 9, at(0))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, c.selectors["*"].set.Len(), maxPatternAddresses+3)
	require.Contains(t, c.names, "victim")
}

// After random events, the addresses of each selector are the addresses of the names that it matches, and the ledgers agree with the names.
func TestRandomEvents(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCache(0)
		c.pods = newLedger(limits{12, 30})
		c.perPattern = limits{6, 20}
		now := start
		names := []string{"a", "b", "aa", "ab", "ba", "bb", "aaa", "aab", "aba", "baa", "bab", "abb", "bba", "bbb", "x"}
		selectors := []Selector{"a", "ab", "*", "a*", "*b", "*a*", "b*b", "x"}
		for range 600 {
			now = now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
			switch s := selectors[r.IntN(len(selectors))]; r.IntN(12) {
			case 0, 1:
				c.add(s, now)
			case 2:
				c.remove(s)
			case 3:
				for _, n := range c.takeDue(3, now) {
					if r.IntN(2) == 0 {
						c.failed(n, now)
					} else {
						c.asked(randomAnswer(r, n), now)
					}
				}
			default:
				of, err := c.answered(randomAnswer(r, names[r.IntN(len(names))]), Asker(1+r.IntN(3)), now)
				require.NoError(t, err)
				for _, s := range of {
					require.Contains(t, c.selectors, s)
				}
			}
			c.check(t)
		}
	}
}

func randomAnswer(r *rand.Rand, name string) answer {
	a := says(name)
	for range r.IntN(4) {
		a.addresses[netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(8))})] = time.Duration(r.IntN(10)) * time.Second
	}
	a.v4, a.v6 = r.IntN(4) > 0, r.IntN(2) == 0
	return a
}

// check compares what is derived with what it is derived from.
func (c *cache) check(t *testing.T) {
	t.Helper()
	total, addresses := 0, 0
	for text, n := range c.names {
		require.NotEmpty(t, n.selectors)
		if c.exact(n) {
			require.NotContains(t, c.pods.all.elements, n)
			continue
		}
		require.Contains(t, c.pods.all.elements, n, text)
		total++
		addresses += len(n.addresses)
	}
	require.Equal(t, []int{total, addresses}, []int{c.pods.all.order.Len(), c.pods.all.addresses})
	require.LessOrEqual(t, total, c.pods.names)
	for _, s := range c.selectors {
		want, counted := map[netip.Addr]bool{}, 0
		for _, n := range c.names {
			require.Equal(t, matches(s.text, n.text), n.selectors[s] || n.incomplete && matches(s.text, n.text))
			if !n.selectors[s] {
				continue
			}
			if s.pattern && !c.exact(n) {
				counted++
			}
			for addr := range n.addresses {
				want[addr] = true
			}
		}
		got := map[netip.Addr]bool{}
		for addr := range s.set.All() {
			got[addr] = true
		}
		require.Equal(t, want, got, s.text)
		if s.pattern {
			require.Equal(t, counted, s.names.all.order.Len())
			require.LessOrEqual(t, counted, s.names.names)
		}
	}
}
