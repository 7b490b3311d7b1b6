package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/httpclient"
)

// Ticket is a code that the API server has accepted.
type Ticket struct {
	code   Code
	client kubernetes.Interface
}

const newCodeHint = "airgap join --new-code on a control-plane host makes a fresh one; for a control-plane host with --node NAME"

// Present shows the code to the API server of the cluster, which the material
// vouches for. The error says when the code was used, has ended, or never was.
//
// The API server remembers for ten seconds whom a token was good for, so being
// let in proves nothing. That the token could be deleted now does.
func Present(ctx context.Context, material JoinMaterial, code Code) (*Ticket, error) {
	config := &rest.Config{
		Host:            "https://" + material.APIServer,
		BearerToken:     code.token(),
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(material.CA)},
		Timeout:         10 * time.Second,
		Proxy:           direct,
	}
	config.Wrap(httpclient.Stay)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("show the code to the API server: %w", err)
	}
	if err := reach(ctx, material.APIServer); err != nil {
		return nil, err
	}
	err = deleteToken(ctx, client, code, metav1.DryRunAll)
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, &Failure{What: "join with this code", Err: errors.New("the cluster does not know it: it was used already, has ended, or is another cluster's"), Next: newCodeHint}
	}
	if err != nil {
		return nil, &Failure{What: "show the code to the API server", Err: err, Next: "on a control-plane host, airgap status tells whether the API server is well"}
	}
	return &Ticket{code: code, client: client}, nil
}

// Parcel fetches and opens the keys for a control-plane host.
func (t *Ticket) Parcel(ctx context.Context) (Parcel, error) {
	if !t.code.ForControlPlane() {
		return nil, &Failure{What: "fetch the control plane's keys", Err: errors.New("the code is a worker's, and this is to be a control-plane host"), Next: newCodeHint}
	}
	secret, err := t.client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, parcelName(t.code), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("fetch the control plane's keys: %w", err)
	}
	return openParcel(t.code, secret.Data[parcelKey])
}

// burn makes the code useless, and its parcel go.
func (t *Ticket) burn(ctx context.Context) error {
	return Revoke(ctx, t.client, t.code)
}
