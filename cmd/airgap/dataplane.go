package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/verify/dataplane"
)

// dataPlane is what the pods of the DaemonSet run. Its settings come from the
// environment, as manifests/data-plane.yaml gives them.
func (a *app) dataPlane() *cobra.Command {
	return &cobra.Command{
		Use: "data-plane", Short: "Try the pod network, as a pod of the cluster", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := dataplane.Options{
				Self: dataplane.Self{Pod: os.Getenv("POD_NAME"), Node: os.Getenv("NODE_NAME"), Host: os.Getenv("HOST_IP")},
				Say: func(line string) {
					fmt.Fprintln(a.stdout, time.Now().UTC().Format(time.RFC3339), line)
				},
			}
			if o.Self.Pod == "" || o.Self.Node == "" {
				return hint(errors.New("airgap data-plane: POD_NAME or NODE_NAME is not set"), "it runs in the pods that airgap install makes; airgap verify says what they have found")
			}
			config, err := rest.InClusterConfig()
			if err != nil {
				return err
			}
			config.Wrap(httpclient.Stay)
			if o.Client, err = kubernetes.NewForConfig(config); err != nil {
				return err
			}
			return dataplane.Run(cmd.Context(), o)
		},
	}
}

// dataPlaneStep brings those pods to the cluster.
func (s *site) dataPlaneStep() step.Step {
	return dataplane.Step(
		func() (string, error) { return programImageOf(s.index.Lock) },
		func() (*rest.Config, error) { return s.machine.RESTConfig(kubeadm.AdminConf) })
}

// programImageOf is this program's image in a lock, by tag and by digest.
func programImageOf(l bundle.Lock) (string, error) {
	for _, i := range l.Images {
		if strings.HasPrefix(i.Name, programRepository+":") {
			return i.Name + "@" + i.Digest, nil
		}
	}
	return "", hint(fmt.Errorf("the bundle has no image %s", programRepository), "make it anew with this airgap")
}
