// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strings"
)

// checkCapabilities tells which features the pipeline needs and the datapath lacks. capabilities is the column of that name
// of the OVSDB table Datapath.
func checkCapabilities(capabilities map[string]string, serviceNAT bool) error {
	needed := []string{"ct_state", "ct_zone", "ct_mark", "ct_label"}
	if serviceNAT {
		needed = append(needed, "ct_state_nat")
	}
	var missing []string
	for _, name := range needed {
		if capabilities[name] != "true" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the OVS datapath does not support %s: needs Linux 4.6 or newer with the modules openvswitch and nf_conntrack",
			strings.Join(missing, ", "))
	}
	return nil
}
