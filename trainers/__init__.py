"""Train policies with GRPO on grpo_envs environments."""
