// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Options of Load.
type Options struct {
	// PinPath is a directory on a bpffs, for example /sys/fs/bpf/antrea/oncache. It is created.
	PinPath string
	// MaxFlows and MaxFlows6 are the capacities of each of the flow maps for IPv4 and IPv6. They must be at least 512 per
	// CPU: smaller LRU maps starve.
	MaxFlows, MaxFlows6 uint32
	// Hook forces a mechanism; HookAuto selects the best one that the kernel has.
	Hook Hook
	// Rewrite loads programs that rewrite packets, and restore them. Other programs have maps of another layout, so they are attached
	// when no key is in use: see LetKeysEnd.
	Rewrite bool
	// Openings loads programs that learn openings.
	Openings bool
	// Direct loads programs for Nodes that are reached without the tunnel. SetDirectNode needs it.
	Direct bool
}

// Datapath is the loaded set of maps and programs. Its methods are safe for concurrent use unless stated.
type Datapath struct {
	opts    Options
	layout  string
	hook    Hook
	objects object.BpfObjects
	// Adopted is true when an earlier agent had pinned the maps.
	Adopted bool

	// jiffy is the time between two ticks of the kernel.
	jiffy time.Duration

	control   *object.Mapped[object.BpfOncControl]
	endpoints *object.Mapped[object.BpfOncEndpoint]
	nodes     *object.Mapped[object.BpfOncNode]
	restores  *object.Mapped[object.BpfOncRestore]
	counts    *object.Mapped[object.BpfOncCount]
	limits    *object.Mapped[object.BpfOncLimit]

	// changes counts the changes of all endpoints.
	changes atomic.Uint32
	// removed is called with the counts of entries that the agent removes.
	removed atomic.Pointer[func(Retired)]
}

// Load creates or adopts the maps and loads the programs; it attaches nothing. Maps of another layout or size are left
// alone until Commit. Errors name what the kernel lacks, where it says so.
func Load(opts Options) (_ *Datapath, err error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the locked-memory limit for eBPF maps: %w", err)
	}
	// The coarse clock advances once per tick, so its resolution is one jiffy.
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil {
		return nil, fmt.Errorf("read the resolution of CLOCK_MONOTONIC_COARSE: %w", err)
	}
	spec, err := newSpec(opts)
	if err != nil {
		return nil, err
	}
	if err := object.FindSummed(spec); err != nil {
		return nil, err
	}
	layout := layoutOf(spec)
	maps := filepath.Join(opts.PinPath, layout, "maps")
	_, statErr := os.Stat(filepath.Join(maps, object.BpfMapControl))
	if err := os.MkdirAll(maps, 0o700); err != nil {
		return nil, fmt.Errorf("create pin directory %s (is a bpffs mounted there?): %w", maps, err)
	}
	for _, m := range spec.Maps {
		if !strings.HasPrefix(m.Name, ".") {
			m.Pinning = ebpf.PinByName
		}
	}
	d := &Datapath{opts: opts, layout: layout, Adopted: statErr == nil, jiffy: time.Duration(tick.Nano())}
	defer func() {
		if err != nil {
			d.Close()
			if !d.Adopted {
				os.RemoveAll(filepath.Join(opts.PinPath, layout))
			}
		}
	}()
	if err := spec.LoadAndAssign(&d.objects, &ebpf.CollectionOptions{Maps: ebpf.MapOptions{PinPath: maps}}); err != nil {
		var verifier *ebpf.VerifierError
		if errors.As(err, &verifier) {
			klog.V(2).InfoS("Verifier refused an ONCache program", "log", fmt.Sprintf("%+v", verifier))
		}
		return nil, fmt.Errorf("load ONCache programs: %w", err)
	}
	if err := d.mapArrays(); err != nil {
		return nil, err
	}
	d.giveSecrets()
	// An agent that has made the maps may have ended before it came here.
	if atomic.LoadUint64(&d.control.Elements[0].KeysFrom) == 0 {
		if err := d.giveNoKeysYet(); err != nil {
			return nil, err
		}
	}
	if d.hook, err = chooseHook(opts.Hook, d.objects.OncacheEgressInit); err != nil {
		return nil, err
	}
	return d, nil
}

// giveSecrets chooses the numbers that decide which flows share places in the maps, once for the life of the maps.
func (d *Datapath) giveSecrets() {
	secrets := &d.control.Elements[0].Secrets
	for i := range secrets {
		var secret [8]byte
		_, _ = rand.Read(secret[:]) // it does not fail (crypto/rand)
		atomic.CompareAndSwapUint64(&secrets[i], 0, binary.NativeEndian.Uint64(secret[:]))
	}
}

// mapArrays maps the programs' settings and counts into memory.
func (d *Datapath) mapArrays() (err error) {
	if d.control, err = object.MapArray[object.BpfOncControl](d.objects.Control); err != nil {
		return err
	}
	if d.endpoints, err = object.MapArray[object.BpfOncEndpoint](d.objects.Endpoints); err != nil {
		return err
	}
	d.changes.Store(d.lastChange())
	if d.nodes, err = object.MapArray[object.BpfOncNode](d.objects.Nodes); err != nil {
		return err
	}
	if d.restores, err = object.MapArray[object.BpfOncRestore](d.objects.Restores); err != nil {
		return err
	}
	if d.counts, err = object.MapArray[object.BpfOncCount](d.objects.FlowCounts); err != nil {
		return err
	}
	d.limits, err = object.MapArray[object.BpfOncLimit](d.objects.FlowLimits)
	return err
}

// newSpec is the compiled object with this configuration's sizes.
func newSpec(opts Options) (*ebpf.CollectionSpec, error) {
	spec, err := object.LoadBpf()
	if err != nil {
		return nil, err
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count possible CPUs: %w", err)
	}
	least := uint32(512 * cpus)
	for _, name := range []string{object.BpfMapEgressFlows4, object.BpfMapIngressFlows4} {
		spec.Maps[name].MaxEntries = max(opts.MaxFlows, least)
	}
	for _, name := range []string{object.BpfMapEgressFlows6, object.BpfMapIngressFlows6} {
		spec.Maps[name].MaxEntries = max(opts.MaxFlows6, least)
	}
	for name, value := range map[string]bool{object.BpfVarRewrites: opts.Rewrite, object.BpfVarHasOpenings: opts.Openings, object.BpfVarHasDirect: opts.Direct} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", name, err)
		}
	}
	if opts.Openings {
		spec.Maps[object.BpfMapOpenings].MaxEntries = max(spec.Maps[object.BpfMapOpenings].MaxEntries, least)
	} else {
		for _, name := range []string{object.BpfMapOpenings, object.BpfMapUntracked, object.BpfMapUntrackedPods, object.BpfMapBars} {
			spec.Maps[name].MaxEntries = 1
		}
	}
	if !opts.Rewrite {
		// This saves 5 MiB. It also keeps these programs, which cannot restore, away from the maps of others, whose keys may be in use.
		spec.Maps[object.BpfMapRestores].MaxEntries = 1
	}
	return spec, nil
}

// layoutOf digests everything on which two agents must agree to share pinned maps.
func layoutOf(spec *ebpf.CollectionSpec) string {
	h := sha256.New()
	names := make([]string, 0, len(spec.Maps))
	for name := range spec.Maps {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m := spec.Maps[name]
		fmt.Fprintf(h, "%s %v %d %d %d %d\n", name, m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags)
		for _, t := range []btf.Type{m.Key, m.Value} {
			if s, ok := t.(*btf.Struct); ok {
				writeStruct(h, s)
			}
		}
	}
	var reason *btf.Enum
	if err := spec.Types.TypeByName("onc_reason", &reason); err == nil {
		for _, v := range reason.Values {
			fmt.Fprintln(h, v.Name, v.Value)
		}
	}
	return "v1-" + hex.EncodeToString(h.Sum(nil)[:6])
}

func writeStruct(h interface{ Write([]byte) (int, error) }, s *btf.Struct) {
	for _, m := range s.Members {
		fmt.Fprintf(h, " %s %d %v\n", m.Name, m.Offset, m.Type)
		if inner, ok := m.Type.(*btf.Struct); ok {
			writeStruct(h, inner)
		}
	}
}

// Commit removes the pins of agents with other layouts, once this one's programs are attached.
func (d *Datapath) Commit() error {
	entries, err := os.ReadDir(d.opts.PinPath)
	if err != nil {
		return fmt.Errorf("list pins in %s: %w", d.opts.PinPath, err)
	}
	for _, e := range entries {
		if e.Name() != d.layout && e.Name() != linksDir {
			if err := os.RemoveAll(filepath.Join(d.opts.PinPath, e.Name())); err != nil {
				return fmt.Errorf("remove pins of another layout: %w", err)
			}
		}
	}
	return nil
}

// Close releases this process's handles. Pinned maps and attached programs stay.
func (d *Datapath) Close() error {
	return errors.Join(d.control.Unmap(), d.endpoints.Unmap(), d.nodes.Unmap(), d.restores.Unmap(), d.counts.Unmap(), d.limits.Unmap(), d.objects.Close())
}
