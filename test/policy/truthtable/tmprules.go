package main

import (
	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	agentrules "github.com/antrea-oncache/antrea/pkg/agent/policy"
)

type onlyKube struct {
	agentpolicy.FlowClient
	known map[uint32]bool
}

func (o *onlyKube) filter(install []*agentrules.Rule, remove []uint32) (i []*agentrules.Rule, r []uint32) {
	for _, id := range remove {
		if o.known[id] {
			delete(o.known, id)
			r = append(r, id)
		}
	}
	for _, rule := range install {
		if rule.Effect.Order.Stage == agentrules.StageKubernetes {
			o.known[rule.FlowID] = true
			i = append(i, rule)
		}
	}
	return
}
func (o *onlyKube) UpdatePolicyRules(install []*agentrules.Rule, remove []uint32) error {
	install, remove = o.filter(install, remove)
	return o.FlowClient.UpdatePolicyRules(install, remove)
}
func (o *onlyKube) UpdatePolicyRulesOnTop(install []*agentrules.Rule, remove []uint32) error {
	install, remove = o.filter(install, remove)
	return o.FlowClient.UpdatePolicyRulesOnTop(install, remove)
}
