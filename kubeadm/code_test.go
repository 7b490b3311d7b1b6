package kubeadm

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

func TestCreateCode(t *testing.T) {
	f, m := newFake(t)
	a := newAPI(t)
	f.put(t, clusterCA, a.ca())
	f.put(t, AdminConf, a.kubeconfig(m.path(clusterCA)))
	config, err := m.RESTConfig(AdminConf)
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = "application/json" // the default is protobuf, which api does not read
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		code, ends, err := CreateCode(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckCode(code); err != nil || seen[code] {
			t.Errorf("%q: %v", code, err)
		}
		seen[code] = true
		if left := time.Until(ends); left < CodeTTL-time.Minute || left > CodeTTL {
			t.Errorf("the code ends in %s", left)
		}
		secret := a.created[len(a.created)-1]
		data := secret["stringData"].(map[string]any)
		if secret["type"] != "bootstrap.kubernetes.io/token" || fmt.Sprint(data["token-id"], ".", data["token-secret"]) != code {
			t.Errorf("the Secret is %v", secret)
		}
	}
}
