// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/policy"
)

// objects returns all Pods of a world that exist in the API.
func objects(world *policy.World) []*policy.Pod {
	return slices.Concat(world.Pods, world.Hosts, world.Ended)
}

// change turns the API's objects into the objects of another world with the same places, with as few requests as
// possible, and replaces the interfaces of Pods that have ended.
func (c *cluster) change(ctx context.Context, before, after *policy.World) error {
	if err := c.deletePolicies(ctx, before, after); err != nil {
		return err
	}
	for name, labels := range after.Namespaces {
		if maps.Equal(before.Namespaces[name], labels) {
			continue
		}
		if _, err := c.api.CoreV1().Namespaces().Update(ctx, namespaceObject(name, labels), metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if err := c.setPolicies(ctx, before, after); err != nil {
		return err
	}
	if err := c.changeAntrea(ctx, before, after); err != nil {
		return err
	}
	if err := c.changePods(ctx, before, after); err != nil {
		return err
	}
	for i, pod := range after.Pods {
		if store := c.interfaces[pod.Node]; store != nil && pod.UID() != before.Pods[i].UID() {
			store.AddInterface(connected(pod, i))
		}
	}
	for _, n := range c.switches {
		if err := n.changeServices(ctx, before, after); err != nil {
			return err
		}
	}
	return nil
}

// deletePolicies deletes the policies that are gone, or that have another UID under their name.
func (c *cluster) deletePolicies(ctx context.Context, before, after *policy.World) error {
	kept := map[string]bool{}
	for _, p := range after.Policies {
		kept[p.Namespace+"/"+p.Name+"/"+string(p.UID)] = true
	}
	for _, p := range before.Policies {
		if kept[p.Namespace+"/"+p.Name+"/"+string(p.UID)] {
			continue
		}
		if err := c.api.NetworkingV1().NetworkPolicies(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// setPolicies creates the policies that are new and updates those that are edited.
func (c *cluster) setPolicies(ctx context.Context, before, after *policy.World) error {
	known := map[string]bool{}
	for _, p := range before.Policies {
		known[string(p.UID)] = true
	}
	for _, p := range after.Policies {
		if slices.Contains(before.Policies, p) {
			continue
		}
		policies, err := c.api.NetworkingV1().NetworkPolicies(p.Namespace), error(nil)
		if known[string(p.UID)] {
			_, err = policies.Update(ctx, p, metav1.UpdateOptions{})
		} else {
			_, err = policies.Create(ctx, p, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changePods deletes, creates and updates Pods.
func (c *cluster) changePods(ctx context.Context, before, after *policy.World) error {
	known, kept := map[string]*policy.Pod{}, map[string]bool{}
	for _, pod := range objects(after) {
		kept[string(pod.UID())] = true
	}
	for _, pod := range objects(before) {
		known[string(pod.UID())] = pod
		if kept[string(pod.UID())] {
			continue
		}
		if err := c.api.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	for _, pod := range objects(after) {
		pods, old, err := c.api.CoreV1().Pods(pod.Namespace), known[string(pod.UID())], error(nil)
		switch {
		case old == nil:
			_, err = pods.Create(ctx, pod.Object(), metav1.CreateOptions{})
		case !reflect.DeepEqual(old.Object(), pod.Object()):
			_, err = pods.Update(ctx, pod.Object(), metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
