// Package redisotel has what the registry's engine calls of github.com/redis/go-redis/extra/redisotel;
// see package redis beside it.
package redisotel

import "github.com/redis/go-redis/v9"

// InstrumentMetrics does nothing, since there is no client.
func InstrumentMetrics(redis.UniversalClient) error { return nil }
