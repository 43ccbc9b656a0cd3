// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// MaxKeys is the number of keys that can be in use at a time, for rewritten packets to this Node from all others.
const MaxKeys = 65535

// keyLife is the time for which a Node uses a key after it has heard it. It is part of the protocol between Nodes: equal in all
// versions that understand keys.
const keyLife = 10 * time.Second

// KeyRest is the time for which a Node knows a key after it has told it: a packet that tells a key, or has one, may be late by a
// quarter of this.
const KeyRest = 2 * keyLife

// nodeRewrites is NODE_REWRITES of bpf/oncache/types.h.
const nodeRewrites = 1

// giveNoKeysYet keeps maps from giving keys as long as other Nodes may use keys of the maps before, which give none from now on.
func (d *Datapath) giveNoKeysYet() error {
	now, err := d.now()
	if err != nil {
		return err
	}
	atomic.StoreUint64(&d.control.Elements[0].KeysFrom, now.jiffies+uint64(KeyRest/d.jiffy))
	return nil
}

// LetKeysEnd waits until no packet can arrive with a key given by programs whose maps have another layout ("": any). Call it before
// these programs are replaced or removed, after their hits have ended, so that they give no more keys. It leaves them switched off:
// they tell no more keys, and restore packets with keys that they have told for Open vSwitch. It returns at once, with waited false,
// if they have given none since the Node was booted. If ctx ends first, the programs must stay as they are: the error is the error of
// ctx.
func LetKeysEnd(ctx context.Context, pinPath, layout string) (waited bool, err error) {
	given, err := filepath.Glob(filepath.Join(pinPath, "*", "maps", object.BpfMapRestores))
	if err != nil {
		return false, fmt.Errorf("look for pinned maps: %w", err)
	}
	given = slices.DeleteFunc(given, func(path string) bool { return filepath.Base(filepath.Dir(filepath.Dir(path))) == layout })
	if len(given) == 0 {
		return false, nil
	}
	if err := waitForPrograms(); err != nil {
		return false, err
	}
	wait := false
	for _, path := range given {
		some, err := hasGivenKeys(path)
		if err != nil {
			return false, err
		}
		wait = wait || some
	}
	if !wait {
		return false, nil
	}
	if err := Suspend(pinPath); err != nil {
		return false, err
	}
	klog.InfoS("Waiting until no packets with keys of the former programs arrive", "time", KeyRest)
	return true, retry.Sleep(ctx, KeyRest)
}

// LetFormerKeysEnd is LetKeysEnd for programs that are about to be attached, with this port for rewritten packets. Keys of their own
// maps also end if such packets came to another port so far. The former maps may have given keys until now, whenever this Datapath's
// maps were made.
func (d *Datapath) LetFormerKeysEnd(ctx context.Context, port uint16) error {
	layout := d.layout
	if former := d.control.Elements[0].RewritePort; former != 0 && former != object.WirePort(port) {
		layout = ""
	}
	waited, err := LetKeysEnd(ctx, d.opts.PinPath, layout)
	if err != nil || !waited {
		return err
	}
	return d.giveNoKeysYet()
}

// hasGivenKeys reports whether programs have given a key. In every version, an element of the map is 0 until then.
func hasGivenKeys(path string) (given bool, err error) {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return false, fmt.Errorf("open pinned map %s: %w", path, err)
	}
	defer m.Close()
	err = eachRaw(m, func(_ []byte, values ...[]byte) bool {
		given = !isZero(values)
		return !given
	})
	return given, err
}

// Layout names the layout of the maps.
func (d *Datapath) Layout() string { return d.layout }

// SetNodeRewrites sets whether the agent of the Node in the slot understands keys for the same port, and so may be told some, and tell
// some. A new slot does not.
func (d *Datapath) SetNodeRewrites(slot int, rewrites bool) {
	flags := &d.nodes.Elements[slot].Flags
	if rewrites {
		atomic.OrUint32(flags, nodeRewrites)
	} else {
		atomic.AndUint32(flags, ^uint32(nodeRewrites))
	}
}

// RefuseKeys keeps all Nodes from being given or told keys, or lets them again.
func (d *Datapath) RefuseKeys(refused bool) {
	var word uint32
	if refused {
		word = 1
	}
	atomic.StoreUint32(&d.control.Elements[0].KeysRefused, word)
}

// KeysKept returns the number of keys that other Nodes may use at present.
func (d *Datapath) KeysKept() (int, error) {
	now, err := d.now()
	if err != nil {
		return 0, err
	}
	kept := 0
	for key := range d.restores.Elements {
		told := atomic.LoadUint64(&d.restores.Elements[key].Told)
		if told != 0 && int64(now.jiffies-told) < 2*int64(atomic.LoadUint32(&d.control.Elements[0].KeyLife)) {
			kept++
		}
	}
	return kept, nil
}

// keyTime is key_time of bpf/oncache/rewriting/keys.h: the unit of times in BpfOncKeys.
func keyTime(jiffies uint64) uint32 { return uint32(jiffies >> 6) }

// rewritten reports whether packets of an egress entry's flow are rewritten at present.
func rewritten(now moment, k *object.BpfOncKeys) bool {
	key, until := k.Heard>>48, uint32(k.Heard>>24)
	return key != 0 && int32((until-keyTime(now.jiffies))<<8) > 0
}
