// Package load fills an etcd with a large cluster that is well: nodes with their
// leases, a control plane, system workloads, and applications of two containers
// each, with all that kubelets and controllers write about them.
//
// What flows in are numbers of nodes and pods and the images that run. What flows
// out are objects in etcd, encoded as kube-apiserver stores them. They do not go
// through its API: that takes two requests a pod, one for its status, and on two
// cores half an hour of 100,000. To the API server it makes no difference who
// wrote them, and to its clients neither.
package load

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	batch   = 100 // objects a transaction; etcd takes 128 operations and 1.5 MiB
	writers = 4
)

// Cluster is what to make.
type Cluster struct {
	Nodes  int
	Pods   int      // of all kinds, system workloads' too; at least four a node and twenty
	Images []string // as a container's status has them, REPOSITORY@DIGEST; pods share them
}

// Written is what was made.
type Written struct {
	Objects int
	Pods    int
	Bytes   int64 // of the pods, as etcd keeps them
}

// Fill writes the cluster into the etcd at that URL, over what was there under
// the same names.
func (c Cluster) Fill(ctx context.Context, etcd string) (Written, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}, Logger: zap.NewNop()})
	if err != nil {
		return Written{}, err
	}
	defer client.Close()
	var w Written
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	puts := make([]clientv3.Op, 0, batch)
	flush := func() {
		full := puts
		puts = make([]clientv3.Op, 0, batch)
		group.Go(func() error {
			_, err := client.Txn(ctx).Then(full...).Commit()
			return err
		})
	}
	for key, object := range c.objects() {
		value, err := stored(object)
		if err != nil {
			return w, fmt.Errorf("encode %s: %w", key, err)
		}
		w.count(object, len(value))
		if puts = append(puts, clientv3.OpPut(prefix+key, string(value))); len(puts) == batch {
			flush()
		}
		if ctx.Err() != nil {
			break
		}
	}
	flush()
	if err := group.Wait(); err != nil {
		return w, fmt.Errorf("write the cluster into etcd: %w", err)
	}
	return w, nil
}

// prefix is kube-apiserver's --etcd-prefix, as it is by default.
const prefix = "/registry/"

// stored is the object as the API server stores it: protobuf in an envelope that
// says of which kind it is.
func stored(object runtime.Object) ([]byte, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), object)
}
