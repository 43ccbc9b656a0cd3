// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package commonarea

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

var errNamesake = errors.New("another cluster has the ID of this one")

// isForeign reports whether another cluster has made an announce, or taken it over. Members of Antrea do not say which cluster they are.
func (a *Area) isForeign(announce *unstructured.Unstructured) bool {
	uid := announce.GetAnnotations()[v1alpha1.ClusterUIDAnnotation]
	return a.clusterUID != "" && uid != "" && uid != a.clusterUID
}

// namesake is the last announce of another cluster with this cluster's ID, and when it was new to this one. The clocks of both may differ.
type namesake struct {
	uid, touched string
	at           time.Time
}

// look returns an error while the other cluster may be alive. Each would delete the exports of the other.
func (n *namesake) look(announce *unstructured.Unstructured, now time.Time) error {
	annotations := announce.GetAnnotations()
	uid, touched := annotations[v1alpha1.ClusterUIDAnnotation], annotations[v1alpha1.TouchAnnotation]
	if n.uid != uid || n.touched != touched {
		*n = namesake{uid, touched, now}
	}
	if now.Sub(n.at) < Timeout {
		return fmt.Errorf("%w: %s; it is the cluster whose Namespace kube-system has the UID %s. Give each an ID and a token of its own", errNamesake, announce.GetName(), uid)
	}
	klog.InfoS("Taking over the announce of a cluster that is silent", "announce", announce.GetName(), "formerUID", uid)
	return nil
}
