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

// informersCommand is what `airgap verify` is measured beside.
func informersCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "informers KUBECONFIG",
		Short:  "Wait until bare informers of what verify watches have all of a cluster",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE:   func(cmd *cobra.Command, args []string) error { return syncInformers(cmd.Context(), args[0]) },
	}
}

// syncInformers lists through client-go's shared informers, in protobuf, and
// keeps every object as it came.
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
	factory.Core().V1().Nodes().Informer()
	factory.Core().V1().Pods().Informer()
	factory.Apps().V1().DaemonSets().Informer()
	factory.Apps().V1().Deployments().Informer()
	factory.StartWithContext(ctx)
	if synced := factory.WaitForCacheSyncWithContext(ctx); synced.Err != nil {
		return errors.Join(context.Cause(ctx), synced.Err)
	}
	return nil
}
