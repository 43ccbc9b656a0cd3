// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

var (
	otherApplied = appliedToGroup("others", memberOf("b1"))
	otherPolicy  = networkPolicy("other", "others", out(block("10.0.0.0/8")))
)

const (
	otherRule     = "Egress [b1@2] peers [10.0.0.0/8] services []"
	isolatedIn    = "Ingress [a1@1] peers [] services []"
	isolatedInA1  = "Ingress [a1@1 b1@2] peers [] services []"
	isolatedOutA1 = "Egress [a1@1 b1@2] peers [] services []"
)

// twoPods makes an agent with a1, to which watchedPolicy applies, and b1, to which otherPolicy does.
func twoPods(t *testing.T, source Source, dir string) *agent {
	return newAgent(t, source, dir, iface("a1", "a1", 1, "10.0.0.1"), iface("b1", "b1", 2, "10.0.0.2"))
}

func (a *agent) answerTwoPods() {
	a.answer(AddressGroups, watchedGroup)
	a.answer(AppliedToGroups, watchedApplied, otherApplied)
	a.answer(NetworkPolicies, watchedPolicy, otherPolicy)
}

// keptStore returns an agent's store with the policies of two Pods.
func keptStore(t *testing.T) string {
	dir := t.TempDir()
	a := twoPods(t, nil, dir)
	a.answerTwoPods()
	require.NoError(t, a.realize())
	require.ElementsMatch(t, []string{watchedRule, otherRule}, a.flows.text())
	return dir
}

func (a *agent) problemsOf(reason problem.Reason) (paths []string) {
	all, _ := a.problems.List()
	for _, p := range all {
		if p.Reason == reason {
			require.Equal(a.t, problem.KindFile, p.Subject.Kind)
			paths = append(paths, p.Subject.Name)
		}
	}
	return paths
}

func TestFallBackOnDamage(t *testing.T) {
	policyInventories := []string{"network-policies/.inventory", "network-policies.inventory"}
	for _, test := range []struct {
		name    string
		damaged []string
		// removed are whole directories.
		removed []string
		want    []string
	}{
		{name: "nothing", want: []string{watchedRule, otherRule}},
		{name: "a group of peers", damaged: []string{"address-groups/peers"}, want: []string{isolatedIn, otherRule}},
		{name: "a group of Pods", damaged: []string{"applied-to-groups/applied"}, want: []string{watchedRule, otherRule}},
		{name: "a policy", damaged: []string{"network-policies/np"}, want: []string{isolatedIn, otherRule}},
		{name: "one inventory of policies", damaged: policyInventories[:1], want: []string{watchedRule, otherRule}},
		{name: "the second one", damaged: policyInventories[1:], want: []string{watchedRule, otherRule}},
		{name: "both", damaged: policyInventories, want: []string{isolatedInA1, isolatedOutA1}},
		{name: "both of groups of Pods", damaged: []string{"applied-to-groups/.inventory", "applied-to-groups.inventory"}, want: []string{isolatedInA1, isolatedOutA1}},
		{name: "both of groups of peers", damaged: []string{"address-groups/.inventory", "address-groups.inventory"}, want: []string{isolatedIn, otherRule}},
		{name: "an inventory and a policy", damaged: []string{"network-policies.inventory", "network-policies/np"}, want: []string{isolatedIn, otherRule}},
		{name: "the directory of policies", removed: []string{"network-policies"}, want: []string{isolatedIn, "Egress [b1@2] peers [] services []"}},
		{name: "everything", removed: []string{"."}, want: []string{isolatedInA1, isolatedOutA1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := keptStore(t)
			var paths []string
			for _, name := range test.damaged {
				paths = append(paths, filepath.Join(dir, name))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(`{"metadata":{"name":"np`), 0o640))
			}
			for _, name := range test.removed {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			}
			a := twoPods(t, nil, dir)
			a.fallBackAll()
			require.ElementsMatch(t, test.want, a.flows.text())
			if len(test.removed) == 0 {
				require.ElementsMatch(t, paths, a.problemsOf(ReasonStoredPolicyUnreadable), "the problems say which files")
			} else {
				require.NotEmpty(t, a.problemsOf(ReasonStoredPolicyUnreadable))
			}

			// A new Pod is as closed as an existing one.
			require.NoError(t, a.PodArrives(iface("a1", "a1new", 3, "10.0.0.3")))
			verdict := policy.Evaluate(a.flows.all(), policy.Ingress, policy.Connection{Source: localPod, Destination: iface("", "", 0, "10.0.0.3").IPs[0]})
			require.True(t, verdict.Isolated)
			a.PodLeaves(iface("a1", "a1new", 3, "10.0.0.3"))

			a.answerTwoPods()
			calls := a.flows.calls
			require.NoError(t, a.realize())
			require.Equal(t, calls+1, a.flows.calls, "what isolates goes in the bundle that brings what is right")
			require.ElementsMatch(t, []string{watchedRule, otherRule}, a.flows.text())
			requireNoProblems(t, a)
			again := twoPods(t, nil, dir)
			again.fallBackAll()
			require.ElementsMatch(t, []string{watchedRule, otherRule}, again.flows.text(), "files are right again")
			requireNoProblems(t, again)
		})
	}
}

// An inventory that is alone and older than a file may not know of other files.
func TestFallBackOnOlderInventory(t *testing.T) {
	for _, test := range []struct {
		name string
		// alone is set when the other inventory is gone.
		alone bool
		want  []string
	}{
		{"alone", true, []string{isolatedInA1, isolatedOutA1}},
		{"beside the present one", false, []string{watchedRule, otherRule, "Ingress [b1@2] peers [] services []"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			a := twoPods(t, nil, dir)
			a.answerTwoPods()
			w := a.watcher(NetworkPolicies)
			paths := w.files.inventories()
			older, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			for _, name := range []string{"third", "second"} {
				require.NoError(t, w.enter(watch.Event{Type: watch.Added, Object: networkPolicy(name, "others", in(v1beta2.NetworkPolicyPeer{}))}))
			}
			require.NoError(t, w.enter(watch.Event{Type: watch.Deleted, Object: networkPolicy("third", "others")}))
			require.NoError(t, os.WriteFile(paths[0], older, 0o600))
			reported := paths[0]
			if test.alone {
				require.NoError(t, os.Remove(paths[1]))
				reported = filepath.Join(w.files.dir, "second")
			}
			b := twoPods(t, nil, dir)
			b.fallBackAll()
			require.ElementsMatch(t, test.want, b.flows.text())
			require.Contains(t, b.problemsOf(ReasonStoredPolicyUnreadable), reported)
		})
	}
}

// A group with a correct checksum and invalid content is also damaged, and affects no others. An invalid policy is not
// damaged: it isolates its Pods, as if antrea-controller had just sent it, and the agent does not wait for
// antrea-controller because of it.
func TestFallBackOnNonsense(t *testing.T) {
	sideways := networkPolicy("other", "others", v1beta2.NetworkPolicyRule{Direction: "Sideways"})
	badPeer := addressGroup("peers", v1beta2.GroupMember{Pod: pod("p1"), IPs: []v1beta2.IPAddress{{1, 2, 3}}})
	dir := t.TempDir()
	a := twoPods(t, nil, dir)
	a.answerTwoPods()
	require.NoError(t, a.watcher(NetworkPolicies).files.save(sideways))
	require.NoError(t, a.watcher(AddressGroups).files.save(badPeer))

	b := twoPods(t, nil, dir)
	b.fallBackAll()
	require.ElementsMatch(t, []string{isolatedIn, "Ingress [b1@2] peers [] services []", "Egress [b1@2] peers [] services []"}, b.flows.text())
	require.Equal(t, []string{filepath.Join(dir, "address-groups/peers")}, b.problemsOf(ReasonStoredPolicyUnreadable))
	problems, _ := b.problems.List()
	require.Contains(t, fmt.Sprint(problems), PolicyNotRealized)
}

// A stored policy names a group that is not stored. No file is damaged, and still no Pod may be left open.
func TestFallBackOnUnknownGroups(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy *v1beta2.NetworkPolicy
		want   []string
	}{
		{"of peers", networkPolicy("np", "applied", in(groups("peers", "unknown"))), []string{watchedRule, otherRule}},
		{"of Pods", networkPolicy("np", "unknown", in(groups("peers"))), []string{isolatedInA1, otherRule}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := keptStore(t)
			former := twoPods(t, nil, dir)
			former.answerTwoPods()
			former.answer(NetworkPolicies, test.policy, otherPolicy)
			a := twoPods(t, nil, dir)
			a.fallBackAll()
			require.ElementsMatch(t, test.want, a.flows.text())

			t.Run("and antrea-controller answers for policies first", func(t *testing.T) {
				a.answer(NetworkPolicies, networkPolicy("np", "later", in(groups("peers"))), otherPolicy)
				require.NoError(t, a.realize())
				require.ElementsMatch(t, test.want, a.flows.text(), "until the groups have come")
				a.answer(AppliedToGroups, appliedToGroup("later", memberOf("a1")), otherApplied)
				require.NoError(t, a.realize())
				require.ElementsMatch(t, []string{watchedRule, otherRule}, a.flows.text())
			})
		})
	}
}

// With an undamaged store a new policy waits for its groups, as always: it isolates only Pods that it concerns.
func TestNewPolicyAfterFallBack(t *testing.T) {
	a := twoPods(t, nil, keptStore(t))
	a.fallBackAll()
	a.answer(NetworkPolicies, watchedPolicy, otherPolicy, networkPolicy("new", "unknown", in(groups("peers"))))
	require.NoError(t, a.realize())
	require.ElementsMatch(t, []string{watchedRule, otherRule}, a.flows.text())
}

func TestIsolationIsShown(t *testing.T) {
	a := twoPods(t, nil, t.TempDir())
	a.fallBackAll()
	require.Len(t, a.NetworkPolicies(), 1)
	require.Equal(t, doubtName, a.NetworkPolicies()[0].SourceRef.Name)
	require.Len(t, a.RulesOf(doubtName), 2)
	require.Len(t, a.AppliedToGroups()[0].GroupMembers, 2)
}

// On a Node without an earlier agent there is nothing to close. The stored files tell the next agent so.
func TestFirstStartWithoutController(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "networkpolicy")
	a := newAgent(t, nil, dir)
	a.fallBackAll()
	require.NoError(t, a.PodArrives(iface("a1", "a1", 1, "10.0.0.1")))
	require.Empty(t, a.flows.text())

	second := startAgent(t, nil, dir)
	second.fallBackAll()
	require.Empty(t, second.flows.text())
	requireNoProblems(t, second)

	require.NoError(t, os.RemoveAll(dir))
	third := startAgent(t, nil, dir)
	third.fallBackAll()
	require.ElementsMatch(t, []string{isolatedIn, "Egress [a1@1] peers [] services []"}, third.flows.text(), "with Pods it is no first start")
}

// While nothing is realized the rules of the former agent are in force, so damage is worth waiting for antrea-controller.
func TestDamageWaitsLonger(t *testing.T) {
	for name, reason := range map[string]error{"refused": errors.New("refused"), "absent": client.ErrNoController} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := keptStore(t)
				require.NoError(t, os.Remove(filepath.Join(dir, "network-policies/np")))
				source := newFakeSource()
				source.setError(reason)
				a := twoPods(t, source, dir)
				for _, w := range a.watchers {
					w.fallbackDelay, w.firstReconnectDelay, w.reconnectDelay = fallbackDelay, firstReconnectDelay, reconnectDelay
				}
				stop := a.run()
				defer stop()
				time.Sleep(doubtDelay - time.Second)
				synctest.Wait()
				require.Empty(t, a.flows.text())
				require.False(t, a.isSynced())
				require.NotEmpty(t, a.problemsOf(ReasonStoredPolicyUnreadable), "reported at once")
				time.Sleep(2 * time.Second)
				<-a.Synced()
				require.ElementsMatch(t, []string{isolatedIn, otherRule}, a.flows.text())
			})
		})
	}
}

func (a *agent) isSynced() bool {
	select {
	case <-a.Synced():
		return true
	default:
		return false
	}
}

// A directory that cannot be made or written does not keep the agent from working, and is retried.
func TestDirectoryCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "networkpolicy")
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		source := newFakeSource()
		a := startAgent(t, source, dir)
		stop := a.run()
		defer stop()
		streams := source.sendAll(watchedGroup, watchedApplied, watchedPolicy)
		<-a.Synced()
		synctest.Wait()
		require.Equal(t, []string{watchedRule}, a.flows.text())
		require.Len(t, a.problemsOf(ReasonPolicyNotStored), 3)
		streams[NetworkPolicies].Add(networkPolicy("second", "applied", out(block(everything))))

		require.NoError(t, os.Remove(dir))
		time.Sleep(storeRetryDelay + time.Second)
		synctest.Wait()
		requireNoProblems(t, a)
		b := startAgent(t, nil, dir)
		b.fallBackAll()
		require.Equal(t, []string{"Egress [a1@1] peers [0.0.0.0/0] services []", watchedRule}, b.flows.text())
	})
}

// smallDisk makes dir a file system of its own for the rest of the test, which must not change its thread.
func smallDisk(t *testing.T, dir string) (remount func(flags uintptr)) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	runtime.LockOSThread() // The thread ends with the goroutine, and so does the namespace.
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNS))
	require.NoError(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	require.NoError(t, unix.Mount("policies", dir, "tmpfs", 0, "size=128k"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return func(flags uintptr) {
		require.NoError(t, unix.Mount("policies", dir, "tmpfs", unix.MS_REMOUNT|flags, "size=128k"))
	}
}

// Objects that could not be written may isolate after a restart, but open nothing.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	smallDisk(t, dir)
	a := twoPods(t, nil, dir)
	a.answerTwoPods()
	requireNoProblems(t, a)
	filler := filepath.Join(dir, "filler")
	require.ErrorIs(t, os.WriteFile(filler, make([]byte, 1<<20), 0o600), unix.ENOSPC)

	second := networkPolicy("second", "others", in(v1beta2.NetworkPolicyPeer{}))
	second.Annotations = map[string]string{"long": strings.Repeat("x", 8<<10)}
	require.NoError(t, a.watcher(NetworkPolicies).enter(watch.Event{Type: watch.Added, Object: second}))
	require.NoError(t, a.realize())
	inForce := []string{watchedRule, otherRule, "Ingress [b1@2] peers [] services []"}
	require.ElementsMatch(t, inForce, a.flows.text(), "what is in force does not depend on the disk")
	require.Equal(t, []string{filepath.Join(dir, "network-policies")}, a.problemsOf(ReasonPolicyNotStored))

	b := twoPods(t, nil, dir)
	b.fallBackAll()
	require.Contains(t, b.flows.text(), "Ingress [b1@2] peers [] services []")

	require.NoError(t, os.Remove(filler))
	a.watcher(NetworkPolicies).storeAll()
	requireNoProblems(t, a)
	c := twoPods(t, nil, dir)
	c.fallBackAll()
	require.ElementsMatch(t, inForce, c.flows.text())
}

// The files on a disk that cannot be written may be older than the rules that were in force.
func TestReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	remount := smallDisk(t, dir)
	a := twoPods(t, nil, dir)
	a.answerTwoPods()
	remount(unix.MS_RDONLY)
	require.NoError(t, a.watcher(NetworkPolicies).enter(watch.Event{Type: watch.Added, Object: networkPolicy("second", "others", in(v1beta2.NetworkPolicyPeer{}))}))
	require.NoError(t, a.realize())
	require.Len(t, a.flows.text(), 3)
	require.Len(t, a.problemsOf(ReasonPolicyNotStored), 1)

	b := twoPods(t, nil, dir)
	b.fallBackAll()
	require.Equal(t, []string{isolatedOutA1, isolatedInA1}, b.flows.text())
	require.NotEmpty(t, b.problemsOf(ReasonStoredPolicyUnreadable))
}
