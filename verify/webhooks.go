package verify

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// keptWebhooks is one webhook configuration.
type keptWebhooks struct {
	objectMeta

	kind  string
	hooks []hook
}

type hook struct {
	name    string
	service string // NAMESPACE/NAME; "" if it is outside of the cluster
	fatal   bool   // if it does not answer, the API server rejects the request
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
		id: "webhooks", title: "Webhooks refer to a Service that answers",
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
	return expectation{nothing: "no webhook refers to a Service in the checked namespaces"}
}

func (v view) allWebhooks() []*keptWebhooks {
	return slices.Concat(all[*keptWebhooks](v, validatingWebhooks), all[*keptWebhooks](v, mutatingWebhooks))
}

// inCluster reports whether its Service is in a checked namespace.
func (h hook) inCluster(judged func(namespace string) bool) bool {
	namespace, _, is := strings.Cut(h.service, "/")
	return is && judged(namespace)
}

// judgeWebhooks checks the webhooks with a Service in a checked namespace.
func judgeWebhooks(v view, judged func(namespace string) bool) []Finding {
	var findings []Finding
	for _, w := range v.allWebhooks() {
		for _, h := range w.hooks {
			if !h.inCluster(judged) {
				continue
			}
			saw := v.serviceProblem(h.service)
			if saw == "" {
				continue
			}
			effect := "the API server accepts its objects without it"
			if h.fatal {
				effect = "the API server rejects the objects that it should check"
			}
			findings = append(findings, Finding{
				Object: w.title(w.kind) + ", " + h.name, Saw: fmt.Sprintf("%s; %s", saw, effect), Want: "Service " + h.service + " with a ready pod",
				Fix: fmt.Sprintf("repair Service %s, or, if it is no longer needed: kubectl delete %s %s", h.service, w.kind, w.name),
			})
		}
	}
	return findings
}
