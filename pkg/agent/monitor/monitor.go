// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitor shows the agent's state in the cluster: it writes it into the object AntreaAgentInfo of its Node every minute.
// antrea-controller makes and deletes that object. Without it, or without the CRD, nothing else is affected.
package monitor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// interval is Antrea's.
	interval       = time.Minute
	requestTimeout = 10 * time.Second
)

var backoff = retry.Backoff{Min: 2 * time.Second, Max: interval}

// Querier knows the agent's state.
type Querier interface {
	AgentInfo(context.Context) apis.AgentInfo
}

// Monitor writes the object. All fields are required.
type Monitor struct {
	Client  dynamic.Interface
	Querier Querier
	// CABundle has the CA certificates, in PEM, that verify the agent's API under the name localhost.
	CABundle []byte
}

// Run writes until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	task := retry.NewTask("The update of the AntreaAgentInfo", interval, backoff)
	for {
		err := m.write(ctx)
		if ctx.Err() != nil || retry.Sleep(ctx, task.Done(err)) != nil {
			return
		}
	}
}

// write brings the object up to date.
func (m *Monitor) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info := contentOf(m.Querier.AgentInfo(ctx))
	info.APICABundle = m.CABundle
	name := info.NodeRef.Name
	infos := m.Client.Resource(crd.AgentInfos)
	object, err := infos.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no AntreaAgentInfo %s: either the CRD %s is not installed, or antrea-controller has not made the object yet: %w",
			name, crd.AgentInfos.GroupResource(), err)
	}
	if err != nil {
		return fmt.Errorf("reading AntreaAgentInfo %s: %w", name, err)
	}
	if err := crd.Fill(object, &info); err != nil {
		return err
	}
	if _, err := infos.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing AntreaAgentInfo %s: %w", name, err)
	}
	return nil
}

// contentOf returns what the object has of the agent's state. The CRD has no networkInfo.
func contentOf(info apis.AgentInfo) v1beta1.AntreaAgentInfo {
	return v1beta1.AntreaAgentInfo{
		Version: info.Version, PodRef: info.PodRef, NodeRef: info.NodeRef, NodeSubnets: info.NodeSubnets, OVSInfo: info.OVSInfo,
		NetworkPolicyControllerInfo: info.NetworkPolicyControllerInfo, LocalPodNum: info.LocalPodNum,
		AgentConditions: info.AgentConditions, APIPort: info.APIPort, NodePortLocalPortRange: info.NodePortLocalPortRange,
	}
}
