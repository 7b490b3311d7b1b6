package verify

import (
	"time"

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

// keptUnreadable stands for an object that has another form than its kind's. An error
// instead would keep the informer from every other object.
type keptUnreadable struct {
	objectMeta

	kind, why string
	since     time.Time
}

const byUnreadable = "unreadable"

// indexUnreadable has all of them under "".
func indexUnreadable(obj any) ([]string, error) {
	if _, is := obj.(*keptUnreadable); is {
		return []string{""}, nil
	}
	return nil, nil
}

// keepUntyped keeps what rules judge of objects without a Go type of
// client-go's.
func keepUntyped(u *unstructured.Unstructured) any {
	m := objectMeta{namespace: u.GetNamespace(), name: u.GetName(), version: u.GetResourceVersion()}
	switch u.GetKind() {
	case nodereport.Kind.Kind:
		return keepReport(m, u)
	case "APIService":
		return keepAPIService(m, u)
	case "IPPool":
		mode, _, _ := unstructured.NestedString(u.Object, "spec", "ipipMode")
		return &keptPool{m, mode}
	case "FelixConfiguration":
		enabled, _, _ := unstructured.NestedBool(u.Object, "spec", "ipipEnabled")
		return &keptFelix{m, enabled}
	default:
		return u
	}
}

func keepReport(m objectMeta, u *unstructured.Unstructured) any {
	if said, _, _ := unstructured.NestedString(u.Object, "report", "heartbeat"); said != "" {
		// Kubernetes' own type reads a time with six digits of fraction only.
		if at, err := time.Parse(time.RFC3339, said); err == nil {
			_ = unstructured.SetNestedField(u.Object, at.Format(metav1.RFC3339Micro), "report", "heartbeat")
		}
	}
	var o nodereport.NodeReport
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o); err != nil {
		return &keptUnreadable{m, nodereport.Kind.Kind, err.Error(), time.Now()}
	}
	return &keptReport{m, o.Report}
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
