package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// informersCommand is the program with which the bench compares `airgap verify`.
func informersCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "informers KUBECONFIG",
		Short:  "Wait until bare informers have all objects of a cluster of the kinds that verify watches",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE:   func(cmd *cobra.Command, args []string) error { return syncInformers(cmd.Context(), args[0]) },
	}
}

// syncInformers lists with client-go's shared informers, in protobuf, and keeps every
// object unchanged.
func syncInformers(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	const protobuf = "application/vnd.kubernetes.protobuf"
	config.ContentConfig = rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(client, 0)
	defer factory.Shutdown()
	defer stop()
	watchAsVerify(factory)
	factory.StartWithContext(ctx)
	if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		return errors.Join(context.Cause(ctx), synced.Err)
	}
	return nil
}

// watchAsVerify creates informers for all Kubernetes kinds that verify watches, in all
// namespaces, with all fields.
func watchAsVerify(f informers.SharedInformerFactory) {
	f.Core().V1().Nodes().Informer()
	f.Core().V1().Pods().Informer()
	f.Core().V1().Namespaces().Informer()
	f.Core().V1().Services().Informer()
	f.Apps().V1().DaemonSets().Informer()
	f.Apps().V1().Deployments().Informer()
	f.Apps().V1().StatefulSets().Informer()
	f.Apps().V1().ReplicaSets().Informer()
	f.Batch().V1().Jobs().Informer()
	f.Coordination().V1().Leases().Informer()
	f.Discovery().V1().EndpointSlices().Informer()
	f.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer()
	f.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()
	f.Rbac().V1().ClusterRoles().Informer()
	f.Rbac().V1().ClusterRoleBindings().Informer()
	f.Certificates().V1().CertificateSigningRequests().Informer()
}
