package verify

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/verify/nodereport"
)

// keptReport is a NodeReport.
type keptReport struct {
	objectMeta

	report nodereport.Report
}

// keptAPIService is what is kept of one: whether its server answers.
type keptAPIService struct {
	objectMeta

	service   string // NAMESPACE/NAME; "" of those that the API server answers itself
	available metav1.ConditionStatus
	reason    string
}

// keptPool is one of Calico's address pools.
type keptPool struct {
	objectMeta

	ipip string // ipipMode
}

// keptFelix are settings of Calico's agent.
type keptFelix struct {
	objectMeta

	ipip bool // ipipEnabled
}

// keepUntyped keeps what rules judge of objects without a Go type of
// client-go's. An object that is not of its kind's form is an error, which the
// informer hands on: nobody can judge what nobody can read.
func keepUntyped(u *unstructured.Unstructured) (any, error) {
	m := objectMeta{namespace: u.GetNamespace(), name: u.GetName(), version: u.GetResourceVersion()}
	switch u.GetKind() {
	case nodereport.Kind.Kind:
		var o nodereport.NodeReport
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o); err != nil {
			return nil, fmt.Errorf("read NodeReport %s: %w", u.GetName(), err)
		}
		return &keptReport{m, o.Report}, nil
	case "APIService":
		return keepAPIService(m, u), nil
	case "IPPool":
		mode, _, _ := unstructured.NestedString(u.Object, "spec", "ipipMode")
		return &keptPool{m, mode}, nil
	case "FelixConfiguration":
		enabled, _, _ := unstructured.NestedBool(u.Object, "spec", "ipipEnabled")
		return &keptFelix{m, enabled}, nil
	default:
		return u, nil
	}
}

func keepAPIService(m objectMeta, u *unstructured.Unstructured) *keptAPIService {
	kept := &keptAPIService{objectMeta: m, reason: because("", "")}
	if name, found, _ := unstructured.NestedString(u.Object, "spec", "service", "name"); found {
		namespace, _, _ := unstructured.NestedString(u.Object, "spec", "service", "namespace")
		kept.service = namespace + "/" + name
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" {
			status, _ := c["status"].(string)
			reason, _ := c["reason"].(string)
			message, _ := c["message"].(string)
			kept.available, kept.reason = metav1.ConditionStatus(status), because(reason, message)
		}
	}
	return kept
}
