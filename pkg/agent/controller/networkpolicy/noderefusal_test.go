// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A policy that the kernel refuses, here for want of LOG, fails alone: others come, change and go, and its former version stays. When the kernel
// takes it, it comes as well.
func TestPolicyThatTheFirewallRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		_, source, firewall := protected(t, log)
		firewall.bad = "Antrea:"
		one := tierPolicy("one", 100, 1, "Drop", "this", in(block("10.1.0.0/16")))
		two := tierPolicy("two", 100, 2, "Drop", "this", in(block("10.2.0.0/16")))
		three := tierPolicy("three", 100, 3, "Drop", "this", in(block("10.3.0.0/16")))
		streams := source.sendAll(appliedToGroup("this", nodeMember("n1")), one, two, three)
		rules, _ := firewall.take(t)
		require.Len(t, rules, 3)
		log.take()

		logged := atGeneration(two, 2)
		logged.Rules[0].EnableLogging = true
		streams[NetworkPolicies].Modify(logged)
		require.NotEmpty(t, settle(t, firewall))
		four := tierPolicy("four", 100, 4, "Drop", "this", in(block("10.4.0.0/16")))
		four.Rules[0].EnableLogging = true
		streams[NetworkPolicies].Add(four)
		streams[NetworkPolicies].Delete(one)
		five := tierPolicy("five", 100, 5, "Allow", "this", in(block("10.5.0.0/16")))
		streams[NetworkPolicies].Add(five)
		require.Equal(t, []string{
			"rule0, Ingress Drop [10.2.0.0/16]", "rule0, Ingress Drop [10.3.0.0/16]", "rule0, Ingress Allow [10.5.0.0/16]",
		}, settle(t, firewall))
		reports := strings.Join(log.take(), "\n")
		require.Contains(t, reports, "two n1 2 true the firewall refuses its rules for this Node")
		require.Contains(t, reports, "four n1 1 true the firewall refuses its rules for this Node")
		require.Contains(t, reports, "five n1 1 false")
		require.NotContains(t, reports, "three n1 1 true")

		firewall.mu.Lock()
		firewall.bad = ""
		firewall.mu.Unlock()
		time.Sleep(10 * time.Minute)
		rules = settle(t, firewall)
		require.Len(t, rules, 4)
		require.Contains(t, strings.Join(rules, "\n"), "[10.2.0.0/16] Antrea:")
		reports = strings.Join(log.take(), "\n")
		require.Contains(t, reports, "two n1 2 false")
		require.Contains(t, reports, "four n1 1 false")
	})
}

// settle returns the rules when what was refused was tried again.
func settle(t *testing.T, firewall *fakeFirewall) []string {
	t.Helper()
	time.Sleep(2 * time.Minute)
	rules, _ := firewall.take(t)
	return rules
}

// After a boot with another kernel, which refuses a rule of the saved policies, the others are in force, also if the policy is the same as before.
func TestSavedPolicyThatAnotherKernelRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "nodepolicies")
		bad := tierPolicy("bad", 100, 1, "Drop", "this", in(block("10.1.0.0/16")))
		bad.Rules[0].EnableLogging = true
		good := tierPolicy("good", 100, 2, "Drop", "this", in(block("10.2.0.0/16")))
		start := func(kernel string) *fakeFirewall {
			source, firewall := newFakeSource(), &fakeFirewall{bad: kernel}
			a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
			a.EnableAntreaPolicies(nil, false)
			a.ApplyToNode("n1", firewall, file)
			a.run()
			source.sendAll(appliedToGroup("this", nodeMember("n1")), bad, good)
			return firewall
		}
		rules, _ := start("").take(t)
		require.Len(t, rules, 2)
		rules, _ = start("Antrea:").take(t)
		require.Equal(t, []string{"rule0, Ingress Drop [10.2.0.0/16]"}, rules)
	})
}

// The search among many policies is short: about two attempts for each halving.
func TestSearchAmongManyPoliciesForTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, source, firewall := protected(t, &statusLog{})
		firewall.bad = "Antrea:"
		objects := []runtime.Object{marked(appliedToGroup("this", nodeMember("n1")), 7)}
		for i := range 256 {
			np := tierPolicy(fmt.Sprintf("np%d", i), 100, float64(i), "Drop", "this", in(block(fmt.Sprintf("10.%d.0.0/16", i))))
			np.Rules[0].EnableLogging = i == 100
			objects = append(objects, marked(np, 7))
		}
		streams := source.sendAll(objects...)
		for _, w := range streams {
			w.Action(watch.Bookmark, bookmark(7))
		}
		rules, sets := firewall.take(t)
		require.Len(t, rules, 255)
		require.Equal(t, 1, sets)
		require.LessOrEqual(t, firewall.tries, 2+1+2*8)
	})
}
