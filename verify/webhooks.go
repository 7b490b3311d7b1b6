package verify

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// keptWebhooks is one configuration of webhooks.
type keptWebhooks struct {
	objectMeta

	kind  string
	hooks []hook
}

type hook struct {
	name    string
	service string // NAMESPACE/NAME; "" of one that is outside of the cluster
	fatal   bool   // when it does not answer, the API server refuses
}

func keepValidating(o *admissionv1.ValidatingWebhookConfiguration) *keptWebhooks {
	kept := &keptWebhooks{objectMeta: metaOf(o.ObjectMeta), kind: "ValidatingWebhookConfiguration"}
	for _, w := range o.Webhooks {
		kept.hooks = append(kept.hooks, keepHook(w.Name, w.ClientConfig, w.FailurePolicy))
	}
	return kept
}

func keepMutating(o *admissionv1.MutatingWebhookConfiguration) *keptWebhooks {
	kept := &keptWebhooks{objectMeta: metaOf(o.ObjectMeta), kind: "MutatingWebhookConfiguration"}
	for _, w := range o.Webhooks {
		kept.hooks = append(kept.hooks, keepHook(w.Name, w.ClientConfig, w.FailurePolicy))
	}
	return kept
}

func keepHook(name string, to admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType) hook {
	h := hook{name: name, fatal: policy == nil || *policy == admissionv1.Fail} // Fail is the default
	if to.Service != nil {
		h.service = to.Service.Namespace + "/" + to.Service.Name
	}
	return h
}

func webhooks(judged func(namespace string) bool) rule {
	return rule{
		id: "webhooks", title: "Webhooks lead to a Service that answers",
		watches: []kind{validatingWebhooks, mutatingWebhooks, services, endpointSlices},
		judge:   func(v view) []Finding { return judgeWebhooks(v, judged) },
		expects: func(v view) expectation { return expectWebhooks(v, judged) },
	}
}

func expectWebhooks(v view, judged func(namespace string) bool) expectation {
	for _, w := range v.allWebhooks() {
		if slices.ContainsFunc(w.hooks, func(h hook) bool { return h.inCluster(judged) }) {
			return expectation{}
		}
	}
	return expectation{nothing: "no webhook leads to a Service of the namespaces that are judged"}
}

func (v view) allWebhooks() []*keptWebhooks {
	return slices.Concat(all[*keptWebhooks](v, validatingWebhooks), all[*keptWebhooks](v, mutatingWebhooks))
}

// inCluster says that it leads to a Service in a namespace that is judged.
func (h hook) inCluster(judged func(namespace string) bool) bool {
	namespace, _, is := strings.Cut(h.service, "/")
	return is && judged(namespace)
}

// judgeWebhooks looks at those whose Service is in a namespace that is judged.
func judgeWebhooks(v view, judged func(namespace string) bool) []Finding {
	var findings []Finding
	for _, w := range v.allWebhooks() {
		for _, h := range w.hooks {
			if !h.inCluster(judged) {
				continue
			}
			saw := v.nowhere(h.service)
			if saw == "" {
				continue
			}
			effect := "its objects are let through unseen"
			if h.fatal {
				effect = "the API server refuses what it should look at"
			}
			findings = append(findings, Finding{
				Object: w.title(w.kind) + ", " + h.name, Saw: fmt.Sprintf("%s; %s", saw, effect), Want: "Service " + h.service + " with a ready pod",
				Fix: fmt.Sprintf("mend Service %s, or delete what nobody answers for: kubectl delete %s %s", h.service, w.kind, w.name),
			})
		}
	}
	return findings
}
