// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"k8s.io/apimachinery/pkg/version"
	basecompatibility "k8s.io/component-base/compatibility"

	antreaversion "github.com/antrea-oncache/antrea/pkg/version"
)

// effectiveVersion makes /version answer with this project's version. The API machinery also decides by a version when
// resources are removed, which does not matter here.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

// EffectiveVersion is for Config.EffectiveVersion of a k8s.io/apiserver.
func EffectiveVersion() basecompatibility.EffectiveVersion {
	return effectiveVersion{basecompatibility.NewEffectiveVersionFromString("1.0", "", "")}
}

func (effectiveVersion) Info() *version.Info {
	return &version.Info{GitVersion: antreaversion.GetFullVersion(), GitCommit: antreaversion.GitSHA, GitTreeState: antreaversion.GitTreeState}
}
