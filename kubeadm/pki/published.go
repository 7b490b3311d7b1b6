package pki

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/kubeadm/kube"
)

// Where the cluster publishes its authorities, by
// https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/ and
// https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/.
const (
	clusterInfo        = "cluster-info"                       // in kube-public, for who wants to join
	rootCA             = "kube-root-ca.crt"                   // in each namespace, for its pods; the controller manager writes it
	authenticationInfo = "extension-apiserver-authentication" // in kube-system, for extension API servers; API servers write it
)

// publish has the cluster's own copies say what text does, and waits until they do.
func (p *participant) publish(ctx context.Context, s succession, text []byte) error {
	if p.Authority.nodes {
		if err := p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error { return tellWhoJoins(ctx, client, text) }); err != nil {
			return err
		}
		err := p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error { return podsAreTold(ctx, client, text) })
		if err != nil {
			return stuck("the controller manager publishes the authorities in every namespace", err)
		}
	}
	field := map[string]string{"cluster": "client-ca-file", "front-proxy": "requestheader-client-ca-file"}[p.Authority.Name]
	if field == "" {
		return nil
	}
	err := p.patiently(ctx, comeBack, func(ctx context.Context, client kubernetes.Interface) error {
		return tellExtensions(ctx, client, field, s, text)
	})
	if err != nil {
		return stuck("the API servers publish the authorities for extensions", err)
	}
	return nil
}

// tellWhoJoins writes kubeadm's cluster-info, which may have been deleted.
func tellWhoJoins(ctx context.Context, client kubernetes.Interface, text []byte) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespacePublic)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		info, err := maps.Get(ctx, clusterInfo, metav1.GetOptions{})
		if err != nil {
			return err
		}
		config, err := clientcmd.Load([]byte(info.Data["kubeconfig"]))
		if err != nil {
			return err
		}
		changed := false
		for _, cluster := range config.Clusters {
			changed = changed || !bytes.Equal(cluster.CertificateAuthorityData, text)
			cluster.CertificateAuthorityData = text
		}
		if !changed {
			return nil
		}
		data, err := clientcmd.Write(*config)
		if err != nil {
			return err
		}
		info.Data["kubeconfig"] = string(data)
		_, err = maps.Update(ctx, info, metav1.UpdateOptions{FieldManager: kube.ByUs().FieldManager})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the authorities to %s: %w", clusterInfo, err)
	}
	return nil
}

// podsAreTold is nil when every namespace has all certificates of text, and no other.
func podsAreTold(ctx context.Context, client kubernetes.Interface, text []byte) error {
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the namespaces: %w", err)
	}
	for _, n := range namespaces.Items {
		if n.DeletionTimestamp != nil {
			continue
		}
		published, err := client.CoreV1().ConfigMaps(n.Name).Get(ctx, rootCA, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read what pods of namespace %s trust: %w", n.Name, err)
		}
		if !sameCertificates([]byte(published.Data["ca.crt"]), text) {
			return fmt.Errorf("%s of namespace %s has other authorities", rootCA, n.Name)
		}
	}
	return nil
}

// tellExtensions waits until API servers have added what is new. They take nothing
// out (pkg/controlplane/controller/clusterauthenticationtrust), so where there is
// too much the whole is deleted, and they write it anew.
func tellExtensions(ctx context.Context, client kubernetes.Interface, field string, s succession, text []byte) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	info, err := maps.Get(ctx, authenticationInfo, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", authenticationInfo, err)
	}
	old, err := cert.ParseCertsPEM(s.old)
	if err != nil {
		return err
	}
	fresh, err := cert.ParseCertsPEM(s.fresh)
	if err != nil {
		return err
	}
	have := []byte(info.Data[field])
	if trustsOneOf(have, old) && !trustsOneOf(text, old) {
		if err := maps.Delete(ctx, authenticationInfo, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("have the API servers write %s anew: %w", authenticationInfo, err)
		}
		return fmt.Errorf("%s has the old authority", authenticationInfo)
	}
	if !trustsOneOf(have, fresh) {
		return fmt.Errorf("%s does not have the new authority", authenticationInfo)
	}
	return nil
}

// sameCertificates compares them in any order.
func sameCertificates(a, b []byte) bool {
	these, err := cert.ParseCertsPEM(a)
	if err != nil {
		return false
	}
	those, err := cert.ParseCertsPEM(b)
	return err == nil && len(these) == len(those) && !slices.ContainsFunc(these, func(c *x509.Certificate) bool { return !slices.ContainsFunc(those, c.Equal) })
}
