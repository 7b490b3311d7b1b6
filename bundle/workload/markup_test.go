package workload_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestMarkupAndShells: images in XML elements, and in default values of shell
// variables.
func TestMarkupAndShells(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"element":                      {"<pod>\n  <image>maven:3.9</image>\n</pod>\n", []string{"maven:3.9"}},
		"element with a namespace":     {"<a>\n  <k8s:image kind=\"x\">maven:3.9</k8s:image>\n</a>\n", []string{"maven:3.9"}},
		"elements of one line":         {"<a><sidecarImage>maven:3.9</sidecarImage> <string>quay.io/x/y:1</string></a>", []string{"maven:3.9", "quay.io/x/y:1"}},
		"attribute next to an element": {"<a image=\"shop/a:one\"><image>shop/b:two</image></a>\n<b/>\n", []string{"shop/b:two", "shop/a:one"}},
		"commented":                    {"<a>\n<!-- <image>maven:3.9</image> -->\n<image></image>\n</a>\n", nil},
		"no image":                     {"<a>\n<imagePullPolicy>Always</imagePullPolicy><url>http://a/b:1</url><version>shop:1</version>\n</a>\n", nil},
		"fallback":                     {"#!/bin/sh\nkubectl run a --image=\"${HELPER:-docker.io/x/y:1}\"\n", []string{"docker.io/x/y:1"}},
		"fallback without colon":       {"#!/bin/sh\nexec run ${HELPER-docker.io/x/y:1}\n", []string{"docker.io/x/y:1"}},
		"fallback that is assigned":    {"#!/bin/sh\n: \"${HELPER_IMAGE:=busybox:1}\"\n", []string{"busybox:1"}},
		"fallback of a named variable": {"#!/bin/sh\nrun ${HELPER_IMAGE:-busybox:1}\n", []string{"busybox:1"}},
		"fallback of a named setting":  {"#!/bin/sh\nHELPER_IMAGE=${1:-x}\nCLEANER_IMAGE=${CLEANER:-busybox:1}\n", []string{"busybox:1"}},
		"fallbacks of parts":           {"#!/bin/sh\nrun ${REGISTRY:-quay.io}/x/y:${TAG:-1}\n", []string{"quay.io/x/y:1"}},
		"fallback in a fallback":       {"#!/bin/sh\nrun ${A:-${B:-quay.io/x/y:1}}\n", []string{"quay.io/x/y:1"}},
		"fallback of one line":         {"run ${A:-quay.io/x/y:1} now", []string{"quay.io/x/y:1"}},
		"fallback of one word":         {"${A:-quay.io/x/y:1}", []string{"quay.io/x/y:1"}},
		"variables without a fallback": {"#!/bin/sh\nrun ${HELPER_IMAGE} $TAG ${A:?no image:1} ${A%image:1} ${#IMAGE} ${A:0:3} ${IMAGE:-}\n", nil},
		"fallback that is a port":      {"#!/bin/sh\nrun ${ADDRESS:-till.shop.svc:8080}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: %q}\n", tc.text)
			if got := likely(t, text); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for argument, want := range map[string]string{
		"--helper=${HELPER:-docker.io/x/y:1}":               "docker.io/x/y:1",
		"set -e\nrun ${HELPER:-docker.io/x/y:1}\n":          "docker.io/x/y:1",
		"<image>maven:3.9</image>":                          "maven:3.9",
		"--pod=<pod><image>maven:3.9</image><a>b</a></pod>": "maven:3.9",
	} {
		if got := likely(t, pod(fmt.Sprintf("args: [%q]", argument))); !slices.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", argument, got, want)
		}
	}
}
