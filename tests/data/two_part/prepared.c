/* correct - */
int kf_prepare(struct kf_call *c)
{
	int64_t n = COLS(c) * DEPTH(c);
	float *t = kf_keep(c, 3, n * sizeof(float));

	return kf_launch(c, "transpose", GROUPS(n), KF_DIM(GROUP), 0,
			 KF_BUF(c->weight[0]), KF_BUF(t), KF_I32(COLS(c)),
			 KF_I32(DEPTH(c)));
}

int kf_forward(struct kf_call *c)
{
	int64_t n = ROWS(c) * COLS(c);
	float *t = kf_keep(c, 3, COLS(c) * DEPTH(c) * sizeof(float));
	float *p = kf_temp(c, n * sizeof(float));

	kf_launch(c, "product", GROUPS(n), KF_DIM(GROUP), 0, KF_BUF(c->in[0]),
		  KF_BUF(t), KF_BUF(p), KF_I32(ROWS(c)), KF_I32(COLS(c)),
		  KF_I32(DEPTH(c)));
	return kf_launch(c, "finish", GROUPS(n), KF_DIM(GROUP), 0, KF_BUF(p),
			 KF_BUF(c->weight[1]), KF_BUF(c->out[0]),
			 KF_I32(ROWS(c)), KF_I32(COLS(c)));
}
