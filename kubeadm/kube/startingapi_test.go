package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/verify/apitest"
)

const (
	withoutRole = `configmaps is forbidden: User \"kubernetes-admin\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"shop\"`
	byAdmission = `configmaps \"till\" is forbidden: exceeded quota: few`
)

// starting is an API server that refuses so many requests, and a client that waits for it.
func starting(t *testing.T, refuses int, with string) (client kubernetes.Interface, asked *int, waiting *awaitingRoles) {
	t.Helper()
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"name":"till"`) {
			t.Errorf("request %d has %q, %v", *asked, body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		if *asked <= refuses {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"%s","reason":"Forbidden","code":403}`, with)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"till","namespace":"shop"}}`)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		waiting = &awaitingRoles{next: next, atMost: 300 * time.Millisecond}
		return waiting
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, asked, waiting
}

func create(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("shop").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "till"}}, metav1.CreateOptions{})
	return err
}

// TestAwaitRoles: a request with a body goes through once the API server has read its roles.
func TestAwaitRoles(t *testing.T) {
	client, asked, _ := starting(t, 3, withoutRole)
	if err := create(t.Context(), client); err != nil || *asked != 4 {
		t.Errorf("after %d requests: %v", *asked, err)
	}
}

// TestAwaitRolesEnds: a refusal that stays is the API server's own error, and is waited for once.
func TestAwaitRolesEnds(t *testing.T) {
	client, asked, waiting := starting(t, 1000, withoutRole)
	if err := create(t.Context(), client); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot create resource") {
		t.Errorf("want the refusal, got %v", err)
	}
	if !waiting.hopeless.Load() {
		t.Fatal("it would wait for each request")
	}
	before := *asked
	if err := create(t.Context(), client); !apierrors.IsForbidden(err) || *asked != before+1 {
		t.Errorf("%d more requests, %v", *asked-before, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	client, _, _ = starting(t, 1000, withoutRole)
	if err := create(ctx, client); !apierrors.IsForbidden(err) {
		t.Errorf("at the end of the caller's time: want the refusal, got %v", err)
	}
}

// TestAdmissionIsNotAwaited: an admission plugin's refusal stays.
func TestAdmissionIsNotAwaited(t *testing.T) {
	client, asked, _ := starting(t, 3, byAdmission)
	if err := create(t.Context(), client); !apierrors.IsForbidden(err) || *asked != 1 {
		t.Errorf("after %d requests: %v", *asked, err)
	}
}

// TestAwaitRolesOfAnAPIServer: a real one refuses with the known text until the role exists.
func TestAwaitRolesOfAnAPIServer(t *testing.T) {
	server := apitest.Start(t)
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "kubernetes-admin"}
	config.Wrap(awaitRoles)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var bound atomic.Bool
	go func() {
		time.Sleep(700 * time.Millisecond)
		bound.Store(true)
		_, err := server.Client(t).RbacV1().ClusterRoleBindings().Create(context.WithoutCancel(t.Context()), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "late"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "kubernetes-admin"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	}()
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "till"}}, metav1.CreateOptions{})
	if err != nil || !bound.Load() {
		t.Errorf("%v, with the role: %t", err, bound.Load())
	}
}
