// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// staleClient has not seen the bridge yet.
type staleClient struct{ client.Client }

func (c staleClient) Get(ctx context.Context, row model.Model) error {
	if _, ok := row.(*bridgeRow); ok {
		return client.ErrNotFound
	}
	return c.Client.Get(ctx, row)
}

// oldClient has not seen yet that the bridge was removed.
type oldClient struct {
	client.Client
	removed bridgeRow
}

func (c oldClient) Get(ctx context.Context, row model.Model) error {
	if br, ok := row.(*bridgeRow); ok {
		*br = c.removed
		return nil
	}
	return c.Client.Get(ctx, row)
}

// TestBridgeRemovedBeforeItIsWritten: a row that is written after another client has removed it is made again.
func TestBridgeRemovedBeforeItIsWritten(t *testing.T) {
	o := ovstest.Start(t)
	conn, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	current, _ := conn.snapshot()
	row, found, err := (&session{Client: current, ctx: testContext(t)}).bridge(bridge)
	require.NoError(t, err)
	require.True(t, found)
	o.Vsctl("del-br", bridge)
	_, err = c.(*bridgeClient).writeBridge(&session{Client: oldClient{current, *row}, ctx: testContext(t)})
	require.ErrorIs(t, err, errIncomplete)
	require.NoError(t, c.Create(testContext(t)))
	require.Equal(t, bridge, o.Vsctl("list-br"))
}

// TestBridgeOfAnAttemptThatWasGivenUp: if the database already has the bridge from an attempt whose answer came too late,
// that is not a failure: the client waits for it.
func TestBridgeOfAnAttemptThatWasGivenUp(t *testing.T) {
	o := ovstest.Start(t)
	conn, c := connect(t, o)
	require.NoError(t, c.Create(testContext(t)))
	current, _ := conn.snapshot()
	_, err := c.(*bridgeClient).writeBridge(&session{Client: staleClient{current}, ctx: testContext(t)})
	require.ErrorIs(t, err, errIncomplete)
	require.NoError(t, c.Create(testContext(t)))
	require.Equal(t, bridge, o.Vsctl("list-br"))
}
