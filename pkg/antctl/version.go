// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"k8s.io/apimachinery/pkg/version"

	antreaversion "github.com/antrea-oncache/antrea/pkg/version"
)

// versions is the output of antctl version: upstream's keys, and the product, which has upstream's other names.
type versions struct {
	Product           string `json:"product"`
	AgentVersion      string `json:"agentVersion,omitempty"`
	AntctlVersion     string `json:"antctlVersion,omitempty"`
	ControllerVersion string `json:"controllerVersion,omitempty"`
}

var versionDefinition = Definition{
	Use: "version", Group: Flat,
	Short: "Print the versions of antctl and of the component",
	Unanswered: func() Result {
		v := versions{Product: antreaversion.Product, AntctlVersion: antreaversion.GetFullVersion()}
		return Object(Column[versions]{"ANTCTL-VERSION", func(v versions) string { return v.AntctlVersion }}).result(v)
	},
	Agent: &Endpoint{Path: "/version", Response: Transform(func(info version.Info) (versions, error) {
		return versions{Product: antreaversion.Product, AgentVersion: info.GitVersion, AntctlVersion: antreaversion.GetFullVersion()}, nil
	}, Object(
		Column[versions]{"ANTCTL-VERSION", func(v versions) string { return v.AntctlVersion }},
		Column[versions]{"AGENT-VERSION", func(v versions) string { return v.AgentVersion }},
	))},
	Controller: &Endpoint{
		Path: controllerInfoPath,
		Response: Transform(func(info controllerInfo) (versions, error) {
			return versions{Product: antreaversion.Product, ControllerVersion: info.Version, AntctlVersion: antreaversion.GetFullVersion()}, nil
		}, Object(
			Column[versions]{"ANTCTL-VERSION", func(v versions) string { return v.AntctlVersion }},
			Column[versions]{"CONTROLLER-VERSION", func(v versions) string { return v.ControllerVersion }},
		)),
	},
}
