// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Agents knows which clients are agents, and on which Nodes they run.
type Agents struct {
	// Account is the user name of the agents' service account; empty means that there are none.
	Account string
	// NodeOfPod finds the Node of a Pod; empty if there is no such Pod. It may be nil.
	NodeOfPod func(namespace, name, uid string) string
}

// nodeOf returns the Node of the agent that makes a request. It is empty for other users, for whom the cluster's RBAC alone
// decides. The Kubernetes API vouches for the object to which a token is bound: from 1.30 on the Node, before that only the
// Pod. A token that is bound to neither could be anyone's, and is refused.
func (a Agents) nodeOf(ctx context.Context) (string, error) {
	who, ok := request.UserFrom(ctx)
	if !ok || a.Account == "" || who.GetName() != a.Account {
		return "", nil
	}
	if node := extra(who, serviceaccount.NodeNameKey); node != "" {
		return node, nil
	}
	pod, uid := extra(who, serviceaccount.PodNameKey), extra(who, serviceaccount.PodUIDKey)
	if pod == "" || uid == "" || a.NodeOfPod == nil {
		return "", errors.New("the token of this agent is bound to no Pod, so its Node is not known; agents need the token that the kubelet mounts")
	}
	namespace, _, err := serviceaccount.SplitUsername(a.Account)
	if err != nil {
		return "", err
	}
	node := a.NodeOfPod(namespace, pod, uid)
	if node == "" {
		return "", fmt.Errorf("the token of this agent is bound to Pod %s/%s (%s), whose Node is not known yet", namespace, pod, uid)
	}
	return node, nil
}

// extra returns the value that the Kubernetes API has for a user under a key, if it is a single one.
func extra(who user.Info, key string) string {
	if values := who.GetExtra()[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}
