// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"k8s.io/apimachinery/pkg/version"

	antreaversion "github.com/antrea-oncache/antrea/pkg/version"
)

// versions is the output of antctl version.
type versions struct {
	AgentVersion      string `json:"agentVersion,omitempty"`
	AntctlVersion     string `json:"antctlVersion,omitempty"`
	ControllerVersion string `json:"controllerVersion,omitempty"`
}

var versionDefinition = Definition{
	Use: "version", Group: Flat,
	Short: "Print the versions of antctl and of the component",
	Agent: &Endpoint{Path: "/version", Response: Transform(func(info version.Info) (versions, error) {
		return versions{AgentVersion: info.GitVersion, AntctlVersion: antreaversion.GetFullVersion()}, nil
	}, Object(
		Column[versions]{"ANTCTL-VERSION", func(v versions) string { return v.AntctlVersion }},
		Column[versions]{"AGENT-VERSION", func(v versions) string { return v.AgentVersion }},
	))},
	Controller: &Endpoint{
		Path: controllerInfoPath,
		Response: Transform(func(info controllerInfo) (versions, error) {
			return versions{ControllerVersion: info.Version, AntctlVersion: antreaversion.GetFullVersion()}, nil
		}, Object(
			Column[versions]{"ANTCTL-VERSION", func(v versions) string { return v.AntctlVersion }},
			Column[versions]{"CONTROLLER-VERSION", func(v versions) string { return v.ControllerVersion }},
		)),
	},
}
