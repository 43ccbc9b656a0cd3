// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podinterface serves /podinterfaces: a list of apis.PodInterface, with the filters name and namespace.
package podinterface

import (
	"fmt"
	"net/http"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the interfaces on the bridge.
type Querier interface {
	GetInterfacesByType(interfacestore.InterfaceType) []*interfacestore.InterfaceConfig
}

// HandleFunc lists local Pod interfaces. A name without match is 404; an empty namespace is an empty list.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, namespace := r.URL.Query().Get("name"), r.URL.Query().Get("namespace")
		interfaces := []apis.PodInterface{}
		for _, config := range q.GetInterfacesByType(interfacestore.ContainerInterface) {
			if (name == "" || config.PodName == name) && (namespace == "" || config.PodNamespace == namespace) {
				interfaces = append(interfaces, podInterface(config))
			}
		}
		if name != "" && len(interfaces) == 0 {
			http.Error(w, notFound(name, namespace), http.StatusNotFound)
			return
		}
		handlers.WriteJSON(w, interfaces)
	}
}

func podInterface(config *interfacestore.InterfaceConfig) apis.PodInterface {
	p := apis.PodInterface{
		PodName:       config.PodName,
		PodNamespace:  config.PodNamespace,
		InterfaceName: config.InterfaceName,
		MAC:           config.MAC.String(),
		ContainerID:   config.ContainerID,
	}
	for _, ip := range config.IPs {
		p.IPs = append(p.IPs, ip.String())
	}
	if config.OVSPortConfig != nil {
		p.PortUUID, p.OFPort = config.PortUUID, config.OFPort
	}
	return p
}

func notFound(name, namespace string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("podinterface %q not found", name)
}
