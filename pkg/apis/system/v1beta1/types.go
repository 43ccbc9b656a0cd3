// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 has the object of system.antrea.io/v1beta1 that agents and controller both serve. Names are Antrea's.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the version of the API.
var SchemeGroupVersion = schema.GroupVersion{Group: "system.antrea.io", Version: "v1beta1"}

// APIPath is the path of the group's version.
const APIPath = "/apis/system.antrea.io/v1beta1"

// Names of the resource of SupportBundle: an agent has one named agent, the controller one named controller.
const (
	SupportBundleKind     = "SupportBundle"
	SupportBundleResource = "supportbundles"
	SupportBundlePath     = APIPath + "/" + SupportBundleResource
	SupportBundleDownload = "download"
)

// BundleStatus is the progress of a bundle.
type BundleStatus string

// There is nothing to download unless the status is Collected.
const (
	SupportBundleStatusNone       BundleStatus = "None"
	SupportBundleStatusCollecting BundleStatus = "Collecting"
	SupportBundleStatusCollected  BundleStatus = "Collected"
)

// SupportBundle is an archive with the state of one component.
type SupportBundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status BundleStatus `json:"status,omitempty"`
	// Sum is the SHA-256 of the archive, in hexadecimal.
	Sum string `json:"sum,omitempty"`
	// Since is a Go duration: log files that were last written to longer ago are left out. Empty means all.
	Since string `json:"since,omitempty"`
	// Size of the archive in bytes.
	Size uint32 `json:"size,omitempty"`
}
