package cni

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// container is a container of a pod template.
type container struct {
	*patched
	title, name string
	fields      map[string]any
}

func (c *container) variables() []any {
	list, _ := c.fields["env"].([]any)
	return list
}

func (c *container) variable(name string) map[string]any {
	for _, item := range c.variables() {
		if v, is := item.(map[string]any); is && v["name"] == name {
			return v
		}
	}
	return nil
}

// setEnv replaces the value of an existing variable. A missing variable is an error.
func (c *container) setEnv(name, value string) {
	if c.err != nil {
		return
	}
	v := c.variable(name)
	if v == nil {
		c.fail(&StructureError{c.title, fmt.Sprintf("variable %s in container %s", name, c.name)})
		return
	}
	delete(v, "valueFrom")
	v["value"] = value
}

// putEnv sets a variable, or adds it.
func (c *container) putEnv(name, value string) {
	switch {
	case c.err != nil:
	case c.variable(name) != nil:
		c.setEnv(name, value)
	default:
		c.fields["env"] = append(c.variables(), map[string]any{"name": name, "value": value})
	}
}

// dropEnv removes a variable if it exists.
func (c *container) dropEnv(name string) {
	if c.err == nil && c.variable(name) != nil {
		c.fields["env"] = slices.DeleteFunc(c.variables(), func(item any) bool {
			v, _ := item.(map[string]any)
			return v["name"] == name
		})
	}
}

// dropProbeArgument removes an argument from the command of a probe. The argument may have several
// spellings. A missing argument is an error.
func (c *container) dropProbeArgument(probe string, spellings ...string) {
	if c.err != nil {
		return
	}
	exec, _ := nested(c.fields, probe, "exec")
	command, _ := exec["command"].([]any)
	left := slices.DeleteFunc(slices.Clone(command), func(one any) bool {
		word, _ := one.(string)
		return slices.Contains(spellings, word)
	})
	if len(left) == len(command) {
		c.fail(&StructureError{c.title, fmt.Sprintf("%s in the %s of container %s", spellings[0], probe, c.name)})
		return
	}
	exec["command"] = left
}

// container returns the container of a workload with a name.
func (p *patched) container(o *unstructured.Unstructured, name string) *container {
	return p.among("containers", o, name)
}

// initContainer returns the init container of a workload with a name.
func (p *patched) initContainer(o *unstructured.Unstructured, name string) *container {
	return p.among("initContainers", o, name)
}

func (p *patched) among(field string, o *unstructured.Unstructured, name string) *container {
	c := &container{patched: p, title: titleOf(o), name: name, fields: map[string]any{}}
	if p.err != nil {
		return c
	}
	// The maps are shared with the object, so changes in them change the object.
	spec, _ := nested(o.Object, "spec", "template", "spec")
	list, _ := spec[field].([]any)
	for _, item := range list {
		if m, is := item.(map[string]any); is && m["name"] == name {
			c.fields = m
			return c
		}
	}
	p.fail(&StructureError{c.title, "container " + name})
	return c
}
