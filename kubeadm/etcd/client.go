// Package etcd reads and changes the cluster's etcd: its members and their health,
// snapshots and restores, and which members can leave without the loss of
// the quorum.
package etcd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// limit is how long an answer may take, or, where it comes bit by bit, each bit.
const limit = 30 * time.Second

// retries are for a member that is just starting.
const retries = 3

// atOnce makes a call fail without a connection, with the reason. The library would wait
// for a connection until the timeout, and would not give the reason.
func atOnce(ctx context.Context, method string, question, answer any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return call(ctx, method, question, answer, conn, append(opts, grpc.WaitForReady(false))...)
}

// Files are those of a client: its certificate and key, and the CA of the members.
type Files struct{ CA, Certificate, Key string }

// Client asks one member. Each request uses a separate connection.
type Client struct {
	URL string
	TLS *tls.Config // nil where the member has no certificate
}

// New is a client for the member at a URL.
func New(url string, files Files) (*Client, error) {
	trust, err := files.trust()
	return &Client{url, trust}, err
}

// ask connects, and asks for at most the limit.
func (c *Client) ask(ctx context.Context, question func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.connected(ctx, question)
}

func (c *Client) connected(ctx context.Context, ask func(context.Context, *clientv3.Client) error) error {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{c.URL}, TLS: c.TLS, Logger: zap.NewNop(), // each failure is an error here
		DialKeepAliveTime: limit, DialKeepAliveTimeout: limit,
		MaxUnaryRetries: retries, BackoffWaitBetween: 100 * time.Millisecond,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(atOnce)},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return plain(ask(ctx, client))
}

func (f Files) trust() (*tls.Config, error) {
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("read etcd's CA: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read etcd's CA: %s holds no certificate", f.CA)
	}
	pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for etcd: %w", err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// page is how many values come at a time: each may have a megabyte.
const page = 16

// Others counts the values below a directory of keys ("/registry/secrets/") that do not
// begin with prefix.
func (c *Client) Others(ctx context.Context, directory, prefix string) (int, error) {
	n := 0
	err := c.connected(ctx, func(ctx context.Context, client *clientv3.Client) error {
		from, end := directory, clientv3.GetPrefixRangeEnd(directory)
		for {
			answer, err := values(ctx, client, from, end)
			if err != nil {
				return err
			}
			for _, pair := range answer.Kvs {
				if !bytes.HasPrefix(pair.Value, []byte(prefix)) {
					n++
				}
				from = string(pair.Key) + "\x00"
			}
			if !answer.More {
				return nil
			}
		}
	})
	if err != nil {
		return n, fmt.Errorf("ask etcd for the values below %s: %w", directory, err)
	}
	return n, nil
}

func values(ctx context.Context, client *clientv3.Client, from, end string) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page))
}

// plain is the reason in etcd's own words, or the network's, without the library's.
func plain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	words := err.Error()
	if s, is := status.FromError(err); is {
		words = s.Message()
	}
	for _, before := range []string{"etcdserver: ", "Error while dialing: "} {
		if _, reason, is := strings.Cut(words, before); is {
			return errors.New(strings.TrimSuffix(reason, `"`))
		}
	}
	return err
}
