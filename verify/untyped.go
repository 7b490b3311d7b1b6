package verify

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/nodestate"
)

// keptReport has a NodeReport.
type keptReport struct {
	objectMeta

	report nodereport.Report
}

// keptAPIService has the used fields of an APIService: whether its server answers.
type keptAPIService struct {
	objectMeta

	service   string // NAMESPACE/NAME; "" if the API server answers itself
	available metav1.ConditionStatus
	reason    string
}

// keptPool is an IPPool of Calico.
type keptPool struct {
	objectMeta

	ipip string // ipipMode
}

// keptFelix is a FelixConfiguration of Calico.
type keptFelix struct {
	objectMeta

	ipip bool // ipipEnabled
}

// keptUnreadable replaces an object with an unexpected format. An error would stop the informer
// for all other objects.
type keptUnreadable struct {
	objectMeta

	kind, why string
	since     time.Time
}

const byUnreadable = "unreadable"

// indexUnreadable indexes all of them under "".
func indexUnreadable(obj any) ([]string, error) {
	if _, is := obj.(*keptUnreadable); is {
		return []string{""}, nil
	}
	return nil, nil
}

// keepUntyped keeps the used fields of objects that client-go has no Go type for.
func keepUntyped(u *unstructured.Unstructured) any {
	m := objectMeta{namespace: u.GetNamespace(), name: u.GetName(), version: u.GetResourceVersion()}
	kept, err := keepForm(m, u)
	if err != nil {
		return &keptUnreadable{m, u.GetKind(), err.Error(), time.Now()}
	}
	return kept
}

func keepForm(m objectMeta, u *unstructured.Unstructured) (any, error) {
	switch u.GetKind() {
	case nodereport.Kind.Kind:
		return keepReport(m, u)
	case "APIService":
		return keepAPIService(m, u)
	case "IPPool":
		mode, _, err := unstructured.NestedString(u.Object, "spec", "ipipMode")
		return &keptPool{m, mode}, err
	case "FelixConfiguration":
		enabled, _, err := unstructured.NestedBool(u.Object, "spec", "ipipEnabled")
		return &keptFelix{m, enabled}, err
	default:
		return u, nil
	}
}

func keepReport(m objectMeta, u *unstructured.Unstructured) (*keptReport, error) {
	if said, _, _ := unstructured.NestedString(u.Object, "report", "heartbeat"); said != "" {
		// The Kubernetes type reads only times with a fraction of six digits.
		if at, err := time.Parse(time.RFC3339, said); err == nil {
			_ = unstructured.SetNestedField(u.Object, at.Format(metav1.RFC3339Micro), "report", "heartbeat")
		}
	}
	var o nodereport.NodeReport
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o)
	return &keptReport{m, o.Report}, err
}

func keepAPIService(m objectMeta, u *unstructured.Unstructured) (*keptAPIService, error) {
	var o struct {
		Spec struct {
			Service *struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"service"`
		} `json:"spec"`
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o)
	kept := &keptAPIService{objectMeta: m, reason: nodestate.Because("", "")}
	if s := o.Spec.Service; s != nil {
		kept.service = s.Namespace + "/" + s.Name
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Available" {
			kept.available, kept.reason = c.Status, nodestate.Because(c.Reason, c.Message)
		}
	}
	return kept, err
}
