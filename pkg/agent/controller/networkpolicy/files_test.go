// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	f := newFiles(dir, AddressGroups)
	require.True(t, isEmpty(dir))
	one, two := addressGroup("one", memberOf("p1", "10.0.1.1", "http:TCP:80")), addressGroup("two")
	require.NoError(t, f.replace([]any{one, two}))
	require.False(t, isEmpty(dir))
	requireStored := func(want ...any) {
		t.Helper()
		l := newFiles(dir, AddressGroups).load()
		require.Empty(t, l.damages)
		require.False(t, l.lost)
		var got []any
		for _, ch := range l.changes {
			got = append(got, ch.stored)
		}
		require.Equal(t, want, got)
	}
	requireStored(one, two)

	patch := addressGroupPatch("two", []v1beta2.GroupMember{memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")}, nil)
	require.NoError(t, f.save(patch))
	require.NoError(t, f.save(addressGroupPatch("two", []v1beta2.GroupMember{memberOf("p3", "10.0.1.33")}, []v1beta2.GroupMember{memberOf("p2"), memberOf("p3")})))
	requireStored(one, addressGroup("two", memberOf("p3", "10.0.1.33")))

	require.NoError(t, f.save(two))
	requireStored(one, two)
	require.NoError(t, f.remove("one"))
	require.NoError(t, f.remove("one"))
	requireStored(two)
	require.NoError(t, f.replace(nil))
	requireStored()
	require.ErrorContains(t, f.save(patch), "patch of two, of which nothing is stored")

	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "half"+statefile.TemporarySuffix), []byte("{"), 0o600))
	requireStored()
	for _, name := range []string{"", ".", "..", "a@b", "a" + statefile.TemporarySuffix, strings.Repeat("a", maxFileName)} {
		_, err := f.path(name)
		require.ErrorContains(t, err, "cannot be a file name")
	}
}

// A Group has a name with a Namespace. It is stored like others, in a file of its own: an agent that starts without antrea-controller
// knows its members.
func TestGroupsOfANamespaceAreStored(t *testing.T) {
	a := startAgent(t, nil, t.TempDir())
	dir := filepath.Dir(a.watchers[0].files.dir)
	a.answer(AppliedToGroups, appliedToGroup("x/applied", memberOf("a1")), appliedToGroup("y/applied"), appliedToGroup("applied"))
	a.answer(AddressGroups, addressGroup("x/peers", memberOf("p1", "10.0.1.1")), addressGroup("y/peers", memberOf("p2", "10.0.1.2")))
	a.answer(NetworkPolicies, networkPolicy("np", "x/applied", out(groups("x/peers"))))
	require.NoError(t, a.realize())
	require.NoError(t, a.watcher(AddressGroups).enter(watch.Event{
		Type: watch.Modified, Object: addressGroupPatch("x/peers", []v1beta2.GroupMember{memberOf("p3", "10.0.1.3")}, nil)}))
	require.NoError(t, a.watcher(AddressGroups).enter(watch.Event{Type: watch.Deleted, Object: addressGroup("y/peers")}))
	require.NoError(t, a.realize())
	requireNoProblems(t, a)
	files, err := os.ReadDir(filepath.Join(dir, directories[AddressGroups]))
	require.NoError(t, err)
	require.Len(t, files, 2, "the inventory, and one group")

	b := startAgent(t, nil, dir)
	b.fallBackAll()
	require.Equal(t, []string{"Egress [a1@1] peers [10.0.1.1 10.0.1.3] services []"}, b.flows.text())
	requireNoProblems(t, b)
}

// Only the object that cannot be written is in doubt.
func TestNameThatIsNoFile(t *testing.T) {
	a := startAgent(t, nil, t.TempDir())
	dir := filepath.Dir(a.watchers[0].files.dir)
	a.answer(AppliedToGroups, watchedApplied)
	a.answer(AddressGroups, watchedGroup)
	a.answer(NetworkPolicies, watchedPolicy, networkPolicy("a@b", "applied", out(block("10.0.0.0/8"))))
	require.NoError(t, a.realize())
	requireNoProblems(t, a)

	b := startAgent(t, nil, dir)
	b.fallBackAll()
	require.Equal(t, []string{"Egress [a1@1] peers [] services []", watchedRule}, b.flows.text())
	problems, _ := b.problems.List()
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Message, `object name "a@b" cannot be a file name`)
}

// A file that is damaged while the agent runs is repaired by the next change of its object.
func TestFileDamagedMeanwhile(t *testing.T) {
	a := startAgent(t, nil, t.TempDir())
	w := a.watcher(AddressGroups)
	a.answer(AddressGroups, watchedGroup)
	path := filepath.Join(w.files.dir, "peers")
	require.NoError(t, os.Truncate(path, 3))
	require.NoError(t, w.enter(watch.Event{Type: watch.Modified, Object: addressGroupPatch("peers", []v1beta2.GroupMember{memberOf("p2", "10.0.1.2")}, nil)}))
	l := newFiles(filepath.Dir(w.files.dir), AddressGroups).load()
	require.Empty(t, l.damages)
	require.Equal(t, addressGroup("peers", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")), l.changes[0].stored)
}

// A missing patch is not hidden by a later one.
func TestPatchIsMissing(t *testing.T) {
	f := newFiles(t.TempDir(), AddressGroups)
	require.NoError(t, f.replace([]any{watchedGroup}))
	path := filepath.Join(f.dir, "peers")
	require.NoError(t, os.Rename(path, path+"2"))
	require.Error(t, f.save(addressGroupPatch("peers", nil, []v1beta2.GroupMember{memberOf("p1")})))
	require.NoError(t, os.Rename(path+"2", path))
	require.Error(t, f.save(addressGroupPatch("peers", []v1beta2.GroupMember{memberOf("p2", "10.0.1.2")}, nil)))
	require.True(t, f.outgrown("peers"))
	l := newFiles(filepath.Dir(f.dir), AddressGroups).load()
	require.Len(t, l.damages, 1)
	require.Empty(t, l.changes)
}

// The agent may be killed between any two of its writes. The files then have the state before the change or after it.
func TestKilledBetweenWrites(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir, before := t.TempDir(), t.TempDir()
		set := newRandomSet(rng, seed%2 == 1)
		a := newAgent(t, nil, dir)
		a.EnableAntreaPolicies(nil, false)
		set.answer(a)
		for i := range localPods {
			a.setInterface(localInterface(i))
		}
		require.NoError(t, a.realize())
		for range 10 {
			former := a.flows.text()
			require.NoError(t, os.RemoveAll(before))
			require.NoError(t, os.CopyFS(before, os.DirFS(dir)))
			e := set.event()
			w := a.watcher(eventResource(e.Object))
			require.NoError(t, w.enter(e))
			require.NoError(t, a.realize())

			relative := func(path string) string {
				r, err := filepath.Rel(dir, path)
				require.NoError(t, err)
				return r
			}
			name := e.Object.(metav1.Object).GetName()
			inventories := w.files.inventories()
			order := []string{filepath.Join(w.files.dir, name), inventories[0], inventories[1]}
			if e.Type == watch.Deleted {
				order = []string{inventories[0], inventories[1]} // The object's file is removed last.
			}
			for written := range len(order) + 1 {
				found := t.TempDir()
				require.NoError(t, os.CopyFS(found, os.DirFS(before)))
				for _, path := range order[:written] {
					content, err := os.ReadFile(path)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(filepath.Join(found, relative(path)), content, 0o600))
				}
				next := newAgent(t, nil, found)
				next.EnableAntreaPolicies(nil, false)
				for i := range localPods {
					next.setInterface(localInterface(i))
				}
				next.fallBackAll()
				requireNoProblems(t, next)
				want := a.flows.text()
				if written == 0 {
					want = former
				}
				require.Equal(t, want, next.flows.text(), "seed %d, %s %s, %d of its writes", seed, e.Type, name, written)
			}
		}
	}
}

func bigGroup(members int) *v1beta2.AddressGroup {
	g := addressGroup("peers")
	for i := range members {
		g.GroupMembers = append(g.GroupMembers, memberOf(fmt.Sprintf("web-5d8f7c9b4-%05d", i), fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255)))
	}
	return g
}

// writtenBytes is the number of bytes that this process has passed to write and its relatives.
func writtenBytes(t testing.TB) (bytes int64) {
	content, err := os.ReadFile("/proc/self/io")
	require.NoError(t, err)
	var read int64
	_, err = fmt.Sscanf(string(content), "rchar: %d\nwchar: %d", &read, &bytes)
	require.NoError(t, err)
	return bytes
}

// The cost of storing a change depends on the size of the change, not on the size of the group.
func TestPatchOfBigGroup(t *testing.T) {
	const patches = 200
	f := newFiles(t.TempDir(), AddressGroups)
	group := bigGroup(100_000)
	require.NoError(t, f.replace([]any{group}))
	whole, err := os.Stat(filepath.Join(f.dir, "peers"))
	require.NoError(t, err)

	bytes, begin := writtenBytes(t), cost.ProcessorTime(t)
	for i := range patches {
		member := memberOf("new", fmt.Sprintf("10.9.9.%d", i+1))
		require.NoError(t, f.save(addressGroupPatch("peers", []v1beta2.GroupMember{member}, []v1beta2.GroupMember{member})))
		require.False(t, f.outgrown("peers"))
	}
	bytes, spent := writtenBytes(t)-bytes, cost.ProcessorTime(t)-begin
	t.Logf("a group of %d members, %d bytes: a patch writes %d bytes and takes %v of processor time", len(group.GroupMembers), whole.Size(), bytes/patches, spent/patches)
	require.Less(t, bytes/patches, int64(2<<10))
	require.Less(t, spent/patches, 5*time.Millisecond)
	l := f.load()
	require.Empty(t, l.damages)
	require.Len(t, l.changes[0].stored.(*v1beta2.AddressGroup).GroupMembers, len(group.GroupMembers)+1)
}

// Files that many patches have made long are compacted, so rarely that on average a patch costs a small multiple of itself.
func TestCompaction(t *testing.T) {
	const patches = 2000
	for _, members := range []int{1, 1000} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			source := t.TempDir()
			a := startAgent(t, nil, source)
			a.answer(AddressGroups, bigGroup(members))
			w := a.watcher(AddressGroups)
			path := filepath.Join(w.files.dir, "peers")
			var patchBytes, longest int64
			bytes := writtenBytes(t)
			for i := range patches {
				p := addressGroupPatch("peers", []v1beta2.GroupMember{memberOf("new", fmt.Sprintf("10.9.%d.%d", i>>8, i&255))}, nil)
				before := w.files.entries["peers"].size
				require.NoError(t, w.enter(watch.Event{Type: watch.Modified, Object: p}))
				if grown := w.files.entries["peers"].size - before; grown > 0 {
					patchBytes += grown
				}
				longest = max(longest, w.files.entries["peers"].size, w.files.inventorySize)
			}
			bytes = writtenBytes(t) - bytes
			t.Logf("%d patches of %d bytes wrote %d bytes each; the longest file had %d bytes", patches, patchBytes/patches, bytes/patches, longest)
			require.Less(t, bytes, 6*patchBytes)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, w.files.entries["peers"].size, info.Size())
			require.Less(t, longest, 3*int64(members)*100+2*compactionSlack)
			requireNoProblems(t, a)
			b := startAgent(t, nil, source)
			b.fallBackAll()
			require.Equal(t, a.AddressGroups(), b.AddressGroups())
		})
	}
}

func BenchmarkPatchOfBigGroup(b *testing.B) {
	f := newFiles(b.TempDir(), AddressGroups)
	require.NoError(b, f.replace([]any{bigGroup(100_000)}))
	member := []v1beta2.GroupMember{memberOf("new", "10.9.9.9")}
	before := writtenBytes(b)
	for b.Loop() {
		require.NoError(b, f.save(addressGroupPatch("peers", member, member)))
	}
	b.ReportMetric(float64(writtenBytes(b)-before)/float64(b.N), "written-B/op")
}

// FuzzJournal takes arbitrary files, and arbitrary records with correct checksums.
func FuzzJournal(f *testing.F) {
	files := newFiles(f.TempDir(), AppliedToGroups)
	require.NoError(f, files.replace([]any{watchedApplied}))
	require.NoError(f, files.save(&v1beta2.AppliedToGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "applied"}, RemovedGroupMembers: []v1beta2.GroupMember{memberOf("a1")}}))
	for _, path := range []string{filepath.Join(files.dir, "applied"), files.inventories()[0]} {
		content, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(content)
		payloads, err := decodeJournal(content)
		require.NoError(f, err)
		for _, p := range payloads {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, whole := range [][]byte{content, encodeJournal(content), encodeJournal(content, content)} {
			payloads, err := decodeJournal(whole)
			if err != nil {
				continue
			}
			total := 0
			for _, p := range payloads {
				total += len(p)
			}
			require.LessOrEqual(t, total, len(whole))
			for r := range directories {
				if x, err := decodeInventory(payloads, r); err == nil {
					for name, e := range x.entries {
						_ = e.unreadable(r, name)
					}
				}
				if object, _, err := decodeObject(payloads, r, "applied"); err == nil {
					_, _ = setObject(object)
				}
			}
		}
	})
}
