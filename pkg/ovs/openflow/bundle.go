// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Bundle messages (ONF extension 230, which OVS speaks on OpenFlow 1.3; OpenFlow 1.4, section 7.3.9).
const (
	onfExperimenter  = 0x4f4e4600
	bundleControl    = 2300
	bundleAddMessage = 2301

	bundleOpen    = 0
	bundleClose   = 2
	bundleCommit  = 4
	bundleDiscard = 6

	bundleAtomic  = 1
	bundleOrdered = 2
)

// bundleAddHeader is the size of the part of ONF_ET_BUNDLE_ADD_MESSAGE before the message that it carries: OpenFlow
// header, experimenter header, bundle id, padding and flags. In OFPT_BUNDLE_ADD_MESSAGE it is smaller.
const bundleAddHeader = 24

// maxBundled is the largest message that a bundle can carry.
const maxBundled = maxMessage - bundleAddHeader

func appendBundleControl(b []byte, v version, xid, id uint32, typ uint16) []byte {
	b = appendBundleHeader(b, v, bundleControl, 8, xid)
	b = binary.BigEndian.AppendUint32(b, id)
	b = binary.BigEndian.AppendUint16(b, typ)
	return binary.BigEndian.AppendUint16(b, bundleAtomic|bundleOrdered)
}

// appendBundleAdd wraps inner, whose version and xid must be v and xid too.
func appendBundleAdd(b []byte, v version, xid, id uint32, inner []byte) []byte {
	b = appendBundleHeader(b, v, bundleAddMessage, 8+len(inner), xid)
	b = binary.BigEndian.AppendUint32(b, id)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint16(b, bundleAtomic|bundleOrdered)
	return append(b, inner...)
}

// appendBundleHeader appends the header of a bundle message: an experimenter message in OpenFlow 1.3, its own type since 1.4.
func appendBundleHeader(b []byte, v version, typ uint32, bodySize int, xid uint32) []byte {
	switch {
	case v == version13:
		b = appendHeader(b, v, typeExperimenter, 8+bodySize, xid)
		b = binary.BigEndian.AppendUint32(b, onfExperimenter)
		return binary.BigEndian.AppendUint32(b, typ)
	case typ == bundleControl:
		return appendHeader(b, v, typeBundleControl, bodySize, xid)
	}
	return appendHeader(b, v, typeBundleAddMessage, bodySize, xid)
}

// bundled is a change that a bundle can carry: a *FlowMod or a *GroupMod.
type bundled interface {
	encode(v version, xid uint32) ([]byte, error)
	// refused returns err as the error of this change.
	refused(err error) error
}

func (m *FlowMod) encode(v version, xid uint32) ([]byte, error)  { return encodeFlowMod(m, v, xid) }
func (m *GroupMod) encode(v version, xid uint32) ([]byte, error) { return encodeGroupMod(m, v, xid) }

func (m *FlowMod) refused(err error) error {
	return &FlowError{Flow: describe(m), Err: explain(err, m.Flow.Actions)}
}

func (m *GroupMod) refused(err error) error {
	var actions []Action
	for _, b := range m.Group.Buckets {
		actions = append(actions, b.Actions...)
	}
	return &GroupError{Group: describeGroup(m), Err: explain(err, actions)}
}

// bundleXIDs are the transaction ids of one bundle: open, one for each mod, close, then commit and barrier or discard.
type bundleXIDs struct {
	first uint32
	mods  int
}

func (x bundleXIDs) count() int         { return x.mods + 5 }
func (x bundleXIDs) open() uint32       { return x.first }
func (x bundleXIDs) mod(i int) uint32   { return x.first + 1 + uint32(i) }
func (x bundleXIDs) closing() uint32    { return x.mod(x.mods) }
func (x bundleXIDs) committing() uint32 { return x.closing() + 1 }
func (x bundleXIDs) barrier() uint32    { return x.closing() + 2 }
func (x bundleXIDs) discarding() uint32 { return x.closing() + 3 }

// commit applies mods as one atomic bundle on this connection.
func (c *conn) commit(ctx context.Context, mods []bundled) error {
	cl, err := c.begin(bundleXIDs{mods: len(mods)}.count())
	if err != nil {
		return err
	}
	defer c.end(cl)
	x := bundleXIDs{first: cl.first, mods: len(mods)}
	// Any number unique among the open bundles of the connection serves as bundle id.
	id := cl.first
	request := appendBundleControl(nil, c.version, x.open(), id, bundleOpen)
	for i := range mods {
		inner, err := mods[i].encode(c.version, x.mod(i))
		if err != nil {
			return err
		}
		request = appendBundleAdd(request, c.version, x.mod(i), id, inner)
	}
	request = appendBundleControl(request, c.version, x.closing(), id, bundleClose)
	if err := c.write(ctx, request); err != nil {
		return fmt.Errorf("send a bundle of %d changes: %w", len(mods), err)
	}
	if err := c.wait(ctx, cl, x.closing()); err != nil {
		c.discard(x.discarding(), id)
		return fmt.Errorf("wait for the check of a bundle of %d changes: %w", len(mods), err)
	}
	if err := c.bundleError(cl, x, mods, bundleClose, x.closing()); err != nil {
		c.discard(x.discarding(), id)
		return err
	}
	request = appendBundleControl(request[:0], c.version, x.committing(), id, bundleCommit)
	request = appendBarrier(request, c.version, x.barrier())
	if err := c.write(ctx, request); err != nil {
		return fmt.Errorf("send the commit of a bundle of %d changes: %w", len(mods), err)
	}
	if err := c.wait(ctx, cl, x.barrier()); err != nil {
		return fmt.Errorf("wait for the commit of a bundle of %d changes: %w", len(mods), err)
	}
	if err := c.bundleError(cl, x, mods, bundleCommit, x.committing()); err != nil {
		return err
	}
	if err := c.errorOf(cl, x.barrier()); err != nil {
		return fmt.Errorf("barrier after a bundle: %w", err)
	}
	return nil
}

// discard asks the switch to drop the bundle. The reply, which belongs to no call, is ignored. If there is no room for
// the message, OVS drops the bundle by itself 10 seconds later (bundle-idle-timeout).
func (c *conn) discard(xid, id uint32) {
	select {
	case c.background <- appendBundleControl(nil, c.version, xid, id, bundleDiscard):
	default:
	}
}

// bundleError returns why the bundle failed up to the control message with the given type and xid: the first change
// that was refused, else the error of the bundle.
func (c *conn) bundleError(cl *call, x bundleXIDs, mods []bundled, typ uint16, xid uint32) error {
	for i := range mods {
		if err := c.errorOf(cl, x.mod(i)); err != nil {
			return mods[i].refused(err)
		}
	}
	for _, control := range []uint32{x.open(), x.closing(), x.committing()} {
		if err := c.errorOf(cl, control); err != nil {
			return fmt.Errorf("bundle of %d changes: %w", len(mods), err)
		}
	}
	for _, m := range c.repliesOf(cl, xid) {
		// The type of the reply follows the type of the request.
		if r, ok := parseBundleReply(m); ok && r.id == cl.first && r.typ == typ+1 {
			return nil
		}
	}
	return fmt.Errorf("bundle of %d changes: the switch gave no reply to the control message %d", len(mods), typ)
}
