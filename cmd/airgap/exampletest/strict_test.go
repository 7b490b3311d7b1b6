package exampletest

import (
	"strings"
	"testing"
)

const doubtful = `apiVersion: apps/v1
kind: Deployment
metadata: {name: own, namespace: own}
spec: {template: {spec: {containers: [{name: own, image: docker.io/vllm/vllm-openai:v0.11.0, args: [--helper-image=docker.io/vllm/gone:1.0]}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: default, namespace: own}]
`

const ownRule = `name: own
operator: [docker.io/vllm/vllm-openai]
ranges: [{versions: "*", source: we wrote it, shown: "it runs what its arguments name"}]
`

// strict: a plan that can be incomplete passes. With --strict it fails until each open point has an
// answer.
func strict(t *testing.T, program string, u *upstream) {
	image := "docker.io/vllm/gone:1.0 looks like an image and is not in the bundle: its registry has no such image"
	operator := "add-on own: Deployment own/own, operator docker.io/vllm/vllm-openai:v0.11.0: it can create pods"
	for name, tc := range map[string]struct {
		answers string // below images
		flags   []string
		wrong   []string
	}{
		"without":          {"", nil, nil},
		"with":             {"", []string{"--strict"}, []string{image, operator, "images.ignore", "images.rules"}},
		"an open image":    {"  rules: [own-rule.yaml]\n", []string{"--strict"}, []string{image}},
		"an open operator": {"  ignore: [{image: docker.io/vllm/gone, reason: it is gone}]\n", []string{"--strict"}, []string{operator}},
		"all is answered":  {"  rules: [own-rule.yaml]\n  ignore: [{image: docker.io/vllm/gone, reason: it is gone}]\n", []string{"--strict"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := visit(t, u, "gpu-box", cases()["gpu-box"], "\nimages:\n", "\naddons: [{name: own, manifests: [doubtful.yaml]}]\nimages:\n"+tc.answers)
			s.flags = tc.flags
			o := plan(t, program, u, s)
			if failed := o.code == 1; failed != (tc.wrong != nil) || o.code > 1 {
				t.Errorf("exit code %d:\n%s", o.code, o.wrong)
			}
			for _, want := range []string{image, operator} {
				is := strings.Contains(o.wrong, want)
				if wants := strings.Contains(strings.Join(tc.wrong, "\n"), want); is != wants {
					t.Errorf("%q is in the error: %v, want %v\n%s", want, is, wants, o.wrong)
				}
			}
			for _, want := range tc.wrong {
				if !strings.Contains(o.wrong, want) {
					t.Errorf("%q is not in\n%s", want, o.wrong)
				}
			}
		})
	}
}
